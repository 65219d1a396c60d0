/** Whom the processes of a sandbox belong to. */
import { describe, expect, it } from 'vitest';
import { sandboxUser } from '../../../src/upstream/stdio/sandbox/machine.ts';
import { verifies } from '../../requirements/verifies.ts';

const ROOT = 0;
const account = (name: string, uid: number) => ({ name, uid, gid: uid, home: '/' });
const find = (user: string) => [account('nobody', 65534), account('app', 1000)].find(({ name }) => name === user);
const none = () => undefined;

describe('the user of a sandbox', verifies('gateway:sandbox:holds'), () => {
  it.each([
    ['is nobody, for root', undefined, ROOT, find, account('nobody', 65534)],
    ['is the one of the config', 'app', ROOT, find, account('app', 1000)],
    ['is the gateway’s own, which need not have a name', undefined, 1234, find, undefined],
  ])('%s', (_name, user, own, known, expected) => {
    expect(sandboxUser(user, own, known)).toEqual(expected);
  });

  it.each([
    ['nobody, for root', undefined, 'nobody'],
    ['the one of the config', 'app', 'app'],
  ])('is missing: %s, so there is no sandbox', (_name, user, missing) => {
    expect(sandboxUser(user, ROOT, none)).toMatchObject({ why: `this machine has no user ${missing}` });
  });
});
