/** A stdio server of the legacy era with one fault, which its argument names. */
import { createInterface } from 'node:readline';

const [, , fault = ''] = process.argv;
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

if (fault === 'exits') {
  process.stderr.write('no API key\n');
  process.exit(3);
}
if (fault === 'noise') process.stdout.write('Listening on stdio!\n');
if (fault === 'stays') setInterval(() => undefined, 60_000);

createInterface({ input: process.stdin }).on('line', (line) => {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return;
  }
  const { id, method, params } = message;
  if (id === undefined) {
    // A response to a notification.
    if (fault === 'answers notifications') say({ jsonrpc: '2.0', id: 'none', result: {} });
    return;
  }
  if (id === null) return;
  const results = {
    initialize: {
      protocolVersion: params?.protocolVersion === '2025-06-18' ? '2025-06-18' : '2025-11-25',
      capabilities: {},
      serverInfo: { name: 'pipe', version: '1' },
    },
    ping: {},
  };
  const result = results[method];
  if (result === undefined) say({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  else say({ jsonrpc: '2.0', id, result });
});
