/** Calls a tool on many connections at once, over and over: `node greedy.js <url> <key> <connections>`. */
import { Connection } from '../load/connection.ts';
import { modernRequest } from '../load/requests.ts';

const [address = '', key = '', connections = '64'] = process.argv.slice(2);
const url = new URL(address);
const call = { method: 'tools/call', name: 'echo', arguments: { text: 'more' } };
const bytes = modernRequest(url, 1, call, { authorization: `Bearer ${key}` });

async function insist(): Promise<never> {
  for (;;) {
    try {
      const connection = await Connection.open(url);
      for (;;) await connection.ask(bytes);
    } catch {
      // Refused, or cut off: it comes again.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

console.log('calling');
await Promise.all(Array.from({ length: Number(connections) }, insist));
