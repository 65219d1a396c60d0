/**
 * One of the servers as a program on stdin and stdout, with a socket to the test beside them.
 *
 *     node child.js <v1|v2> <port of the test>
 */
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { buildV1 } from './server-v1.ts';
import { buildV2 } from './server-v2.ts';
import { newWorld, type Order, pass } from './world.ts';

const [version, port] = process.argv.slice(2);
const socket = connect(Number(port), '127.0.0.1');
// Whatever becomes of the test, no process is left behind.
socket.on('close', () => process.exit(0));
socket.on('error', () => process.exit(1));
process.stdin.on('end', () => socket.end());

const world = newWorld((fact) => void socket.write(`${JSON.stringify(fact)}\n`));
let obey: ((order: Order) => void) | undefined;
let begun = false;

// The first line says how the world is, each other is an order.
createInterface({ input: socket }).on('line', (line) => {
  const said = JSON.parse(line);
  if (!begun) begin(said);
  else {
    obey?.(said);
    pass(said, world);
  }
});

function begin({ grown }: { readonly grown: boolean }): void {
  begun = true;
  world.grown = grown;
  if (version === 'v1') {
    const built = buildV1(world);
    obey = built.obey;
    void built.server.connect(new StdioServerTransport());
    return;
  }
  serveStdio(
    () => {
      const built = buildV2(world);
      obey = built.obey;
      return built.server;
    },
    { legacy: 'reject' },
  );
}
