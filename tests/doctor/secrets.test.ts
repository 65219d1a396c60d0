/** What is masked before anything is printed. */
import { describe, expect, it } from 'vitest';
import { SecretMask } from '../../src/doctor/peer/secrets.ts';

function mask(): SecretMask {
  const secrets = new SecretMask();
  secrets.addHeader('X-Key', 'Bearer abcdefgh12345678');
  secrets.addHeader('X-Env', 'dev');
  secrets.add('a code with spaces');
  return secrets;
}

const rows = [
  { name: 'a value of a header', text: 'got abcdefgh12345678!', shown: 'got ***!' },
  { name: 'a value in an address', text: '/?c=a%20code%20with%20spaces', shown: '/?c=***' },
  { name: 'a short value, which is an ordinary word', text: 'device', shown: 'device' },
  { name: 'a token in JSON', text: '{"access_token": "x\\"y","a":1}', shown: '{"access_token": "***","a":1}' },
  { name: 'a code in a form', text: 'grant_type=a&code=b&state=c', shown: 'grant_type=a&code=***&state=***' },
  { name: 'a code of an error in JSON, which is no secret', text: '{"code":"invalid"}', shown: '{"code":"invalid"}' },
  { name: 'characters that a terminal interprets', text: 'a\u001b[2Jb\nc', shown: 'a\ufffd[2Jb\nc' },
];

describe('a text', () => {
  for (const { name, text, shown } of rows)
    it(`with ${name}`, () => {
      expect(mask().hide(text)).toBe(shown);
    });
});

describe('a header', () => {
  it('of the user is masked, however short', () => {
    expect(mask().header('x-env', 'dev')).toBe('***');
  });

  it('with credentials or cookies is masked', () => {
    for (const name of ['Authorization', 'Set-Cookie']) expect(mask().header(name, 'anything')).toBe('***');
  });

  it('with a session id is shortened', () => {
    expect(mask().header('Mcp-Session-Id', '0123456789')).toBe('012345...');
  });
});
