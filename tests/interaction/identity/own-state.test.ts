/** A modern backend’s own state, where everybody comes to it with the same credential. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditRecord } from '../../../src/observe/audit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { KeyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';

const capabilities = { elicitation: {} };
/** In a spelling that a parser would not give back. */
const own = 'state of \u00fc \\ "quotes"';

async function guarded(identity: boolean) {
  const ring = new KeyRing();
  onTestFinished(() => ring.close());
  const as = (name: string) => ({ authorization: `Bearer ${ring.make(name)}` });
  const people = { ada: as('ada'), eve: as('eve') };
  const seen: unknown[] = [];
  const backend = await modernBackend({
    'tools/call': (turn) => {
      const { requestState } = turn.message.params;
      seen.push(requestState);
      if (requestState !== undefined)
        turn.result({ resultType: 'complete', content: [{ type: 'text', text: 'done' }] });
      else
        turn.result({
          resultType: 'input_required',
          inputRequests: {
            who: {
              method: 'elicitation/create',
              params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
            },
          },
          requestState: own,
        });
    },
  });
  const records: AuditRecord[] = [];
  const audit = { write: (record: AuditRecord) => void records.push(record), close: async () => undefined };
  const gateway = await startGateway(
    {
      backends: { b: { url: backend.url } },
      rates: [{ id: 'one', per: ['principal'], concurrent: 1 }],
      ...(identity && { identity: { keys: { file: ring.path } } }),
    },
    { audit },
  );
  const call = async (headers: Record<string, string>, more: Json = {}) => {
    const params = { name: 't', arguments: { a: 1 }, ...more };
    return (await send(gateway.url(), modern({ method: 'tools/call', params, capabilities, headers }))).json();
  };
  return { call, people, seen, records };
}

const answered = (requestState: string, more: Json = {}) => ({
  requestState,
  inputResponses: { who: { action: 'accept', content: {} } },
  ...more,
});

describe('an invalid state', verifies('gateway:bridge:shared-credential-state'), () => {
  it('is rejected, recorded, and leaves nothing open', async () => {
    const { call, people, seen, records } = await guarded(true);
    for (let n = 0; n < 3; n++)
      expect((await call(people.ada, answered('garbage'))).error.data.reason).toBe('invalid_request_state');
    expect(records.filter(({ action }) => action === 'call').map(({ outcome }) => outcome)).toEqual([
      'error',
      'error',
      'error',
    ]);
    // The place under `concurrent` is free again.
    expect((await call(people.ada)).result.resultType).toBe('input_required');
    expect(seen).toHaveLength(1);
  });
});

describe('a backend’s state', verifies('gateway:bridge:shared-credential-state'), () => {
  it('is returned to it unchanged, from the principal that got it', async () => {
    const { call, people, seen } = await guarded(true);
    const { requestState } = (await call(people.ada)).result;
    expect(requestState).not.toContain('quotes');
    expect((await call(people.ada, answered(requestState))).result.resultType).toBe('complete');
    expect(seen).toEqual([undefined, own]);
  });

  it('is invalid from another principal, or for another request', async () => {
    const { call, people, seen } = await guarded(true);
    const { requestState } = (await call(people.ada)).result;
    const refused = [
      await call(people.eve, answered(requestState)),
      await call(people.ada, answered(requestState, { arguments: { a: 2 } })),
      await call(people.ada, answered(requestState, { name: 'other' })),
      await call(people.ada, answered(own)),
      await call(people.ada, answered(`${requestState.slice(0, -1)}${requestState.endsWith('A') ? 'B' : 'A'}`)),
    ];
    for (const { error } of refused)
      expect(error).toMatchObject({ code: -32602, data: { reason: 'invalid_request_state' } });
    expect(seen).toEqual([undefined]);
    expect((await call(people.ada, answered(requestState))).result.resultType).toBe('complete');
  });

  it('is passed on unchanged at an open endpoint', async () => {
    const { call } = await guarded(false);
    expect((await call({})).result.requestState).toBe(own);
    expect((await call({}, answered(own))).result.resultType).toBe('complete');
  });
});
