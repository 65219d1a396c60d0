import { describe, expect, test } from 'vitest';
import { complaintsAbout, configOf } from './loading.ts';

const backend = 'backends:\n  files: { command: npx }\n';

describe('extensions', () => {
  test('an endpoint has the choices of the file, and its own before them', () => {
    const config = configOf(
      `${backend}extensions: { a.b/c: pass, a.b/d: deny }\nendpoints: [{ path: /x }, { path: /y, extensions: { a.b/c: deny } }]\n`,
    );
    expect(config.endpoints.map(({ extensions }) => extensions)).toEqual([
      { 'a.b/c': 'pass', 'a.b/d': 'deny' },
      { 'a.b/c': 'deny', 'a.b/d': 'deny' },
    ]);
  });

  test('are absent where nothing is said of them', () => {
    expect(configOf(backend).endpoints[0]).not.toHaveProperty('extensions');
  });

  test.each([
    {
      name: 'an id without a prefix',
      choices: '{ thing: pass }',
      says: 'the id of an extension, such as com.example/thing',
    },
    { name: 'an unknown choice', choices: '{ com.example/thing: allow }', says: 'expected pass or deny' },
  ])('$name is refused', ({ choices, says }) => {
    expect(complaintsAbout(`${backend}extensions: ${choices}\n`)).toContain(says);
    expect(complaintsAbout(`${backend}endpoints: [{ path: /x, extensions: ${choices} }]\n`)).toContain(says);
  });
});
