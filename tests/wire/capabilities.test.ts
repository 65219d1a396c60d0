import { describe, expect, test } from 'vitest';
import { forUpstream, missingFor, readCapabilities } from '../../src/wire/capabilities.ts';

describe('the capabilities of a client', () => {
  const none = { elicitation: undefined, sampling: undefined, roots: false };
  const cases: readonly { name: string; raw: unknown; expect: object }[] = [
    { name: 'nothing', raw: {}, expect: none },
    { name: 'no object', raw: null, expect: { ...none, raw: {} } },
    { name: 'an array', raw: ['roots'], expect: { ...none, raw: {} } },
    {
      name: 'elicitation without modes: forms',
      raw: { elicitation: {} },
      expect: { elicitation: { form: true, url: false } },
    },
    { name: 'forms by name', raw: { elicitation: { form: {} } }, expect: { elicitation: { form: true, url: false } } },
    { name: 'URLs alone', raw: { elicitation: { url: {} } }, expect: { elicitation: { form: false, url: true } } },
    {
      name: 'both modes',
      raw: { elicitation: { url: {}, form: {} } },
      expect: { elicitation: { form: true, url: true } },
    },
    { name: 'sampling', raw: { sampling: {} }, expect: { sampling: { tools: false, context: false } } },
    {
      name: 'sampling with tools',
      raw: { sampling: { tools: {}, context: {} } },
      expect: { sampling: { tools: true, context: true } },
    },
    { name: 'roots', raw: { roots: { listChanged: true } }, expect: { roots: true } },
    {
      name: 'true instead of an object, which declares nothing',
      raw: { roots: true, sampling: 1, elicitation: [] },
      expect: none,
    },
  ];
  test.each(cases)('$name', ({ raw, expect: expected }) => {
    expect(readCapabilities(raw)).toMatchObject(expected);
  });
});

describe('the capabilities for a backend', () => {
  const cases: readonly { name: string; raw: Record<string, unknown>; expect: object }[] = [
    { name: 'unknown ones', raw: { experimental: { a: 1 }, x: true }, expect: { experimental: { a: 1 }, x: true } },
    { name: 'no tasks', raw: { tasks: {}, sampling: {} }, expect: { sampling: {} } },
    {
      name: 'extensions',
      raw: { extensions: { 'io.modelcontextprotocol/tasks': {}, 'io.modelcontextprotocol/ui': { a: 1 } } },
      expect: { extensions: { 'io.modelcontextprotocol/tasks': {}, 'io.modelcontextprotocol/ui': { a: 1 } } },
    },
    { name: 'roots without their changes', raw: { roots: { listChanged: true, x: 1 } }, expect: { roots: { x: 1 } } },
  ];
  test.each(cases)('$name', ({ raw, expect: expected }) => {
    const before = structuredClone(raw);
    expect(forUpstream(raw, '2026-07-28')).toEqual(expected);
    expect(raw).toEqual(before);
  });
});

describe('the capability that a server request needs and the client lacks', () => {
  const form = { elicitation: {} };
  const url = { elicitation: { url: {} } };
  const cases: readonly { name: string; method: string; params?: unknown; raw: object; expect: object | undefined }[] =
    [
      {
        name: 'a form for a client with forms',
        method: 'elicitation/create',
        params: { mode: 'form' },
        raw: form,
        expect: undefined,
      },
      { name: 'a form without saying so', method: 'elicitation/create', params: {}, raw: form, expect: undefined },
      {
        name: 'a form for one with URLs only',
        method: 'elicitation/create',
        params: {},
        raw: url,
        expect: { elicitation: { form: {} } },
      },
      {
        name: 'a URL for one with forms only',
        method: 'elicitation/create',
        params: { mode: 'url' },
        raw: form,
        expect: { elicitation: { url: {} } },
      },
      {
        name: 'a URL for a client with URLs',
        method: 'elicitation/create',
        params: { mode: 'url' },
        raw: url,
        expect: undefined,
      },
      {
        name: 'a form for a client without forms',
        method: 'elicitation/create',
        raw: {},
        expect: { elicitation: { form: {} } },
      },
      { name: 'sampling', method: 'sampling/createMessage', params: {}, raw: { sampling: {} }, expect: undefined },
      { name: 'sampling for a client without it', method: 'sampling/createMessage', raw: {}, expect: { sampling: {} } },
      {
        name: 'sampling with tools',
        method: 'sampling/createMessage',
        params: { tools: [] },
        raw: { sampling: {} },
        expect: { sampling: { tools: {} } },
      },
      {
        name: 'sampling with a choice',
        method: 'sampling/createMessage',
        params: { toolChoice: {} },
        raw: {},
        expect: { sampling: { tools: {} } },
      },
      {
        name: 'sampling with tools for a client with it',
        method: 'sampling/createMessage',
        params: { tools: [] },
        raw: { sampling: { tools: {} } },
        expect: undefined,
      },
      { name: 'roots', method: 'roots/list', raw: { roots: {} }, expect: undefined },
      { name: 'roots for a client without them', method: 'roots/list', raw: {}, expect: { roots: {} } },
      { name: 'a ping, which needs nothing', method: 'ping', raw: {}, expect: undefined },
    ];
  test.each(cases)('$name', ({ method, params, raw, expect: expected }) => {
    expect(missingFor({ method, params }, readCapabilities(raw))).toEqual(expected);
  });
});
