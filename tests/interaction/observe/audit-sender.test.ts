/** Audit records say where a request came from. */
import { expect, it } from 'vitest';
import type { AuditRecord } from '../../../src/observe/audit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { call, echo } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;

async function recorded() {
  const backend = await modernBackend(echo);
  const records: AuditRecord[] = [];
  const audit = { write: (record: AuditRecord) => void records.push(record), close: async () => undefined };
  const gateway = await startGateway({ backends: { b: { url: backend.url } } }, { audit });
  return { url: gateway.url(), records };
}

it(
  'an audit record has the address and the name of the client, the request id and the trace id',
  verifies('gateway:audit:sender'),
  async () => {
    const { url, records } = await recorded();
    const { headers, body } = modern({ method: 'tools/call', params: { name: 'work', arguments: {} } });
    await send(url, { body, headers: { ...headers, 'x-request-id': 'mine-1', traceparent } });
    expect(records).toMatchObject([
      { address: '127.0.0.1', client: 'raw/1', requestId: 'mine-1', traceId: TRACE, outcome: 'result' },
    ]);
    expect(records[0]?.session).toBeUndefined();
  },
);

it(
  'the record of a legacy client names its session, but not by the whole id',
  verifies('gateway:audit:sender'),
  async () => {
    const { url, records } = await recorded();
    const client = await connectLegacy(url);
    await client.post(call(2));
    const last = records.at(-1);
    expect(last).toMatchObject({ action: 'call', client: 'raw/1', session: client.session.slice(-8) });
    expect(JSON.stringify(records)).not.toContain(client.session);
  },
);
