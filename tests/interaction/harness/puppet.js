/**
 * The process of a scripted stdio backend: tells the test, over a socket, what comes on its stdin and which signals it
 * gets, and does what the test says. Plain JavaScript without dependencies, so that it starts at once.
 *
 *     node puppet.js <port of the test> [stays] [ignores-sigterm] [has-child]
 */
import { spawn } from 'node:child_process';
import { connect } from 'node:net';

const [port, ...manners] = process.argv.slice(2);
const socket = connect(Number(port), '127.0.0.1');
const tell = (fact) => socket.write(`${JSON.stringify(fact)}\n`);
const leave = (code) => socket.end(() => process.exit(code));

// In its own process group, as whatever a server starts.
const child = manners.includes('has-child') ? spawn('sleep', ['1000'], { stdio: 'ignore' }).pid : undefined;
tell({ pid: process.pid, child });

process.stdin.on('data', (chunk) => tell({ in: chunk.toString('latin1') }));
process.stdin.on('end', () => {
  tell({ end: true });
  if (!manners.includes('stays')) leave(0);
});
process.on('SIGTERM', () => {
  tell({ signal: 'SIGTERM' });
  if (!manners.includes('ignores-sigterm')) leave(0);
});

let rest = '';
socket.setEncoding('utf8');
socket.on('data', (text) => {
  const lines = (rest + text).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) obey(JSON.parse(line));
});
// Whatever becomes of the test, no process is left behind.
socket.on('close', () => process.exit(1));
socket.on('error', () => process.exit(1));

function obey(order) {
  if (order.out !== undefined) process.stdout.write(Buffer.from(order.out, 'latin1'));
  if (order.err !== undefined) process.stderr.write(order.err);
  if (order.exit !== undefined) process.exit(order.exit);
}
