// A stdio backend whose words come from the player: everything that it reads goes there, and everything that it writes
// comes from there. Usage: node pipe.js <port> <name>
import { connect } from 'node:net';

const [, , port, name] = process.argv;
const socket = connect(Number(port), '127.0.0.1', () => {
  socket.write(`${name}\n`);
  process.stdin.pipe(socket);
  socket.pipe(process.stdout);
});
socket.on('error', () => process.exit(1));
socket.on('close', () => process.exit(0));

// Each byte of a second connection comes back when everything before it was passed on.
const asked = connect(Number(port), '127.0.0.1', () => asked.write('asked\n'));
asked.on('data', (bytes) => setImmediate(() => setImmediate(() => asked.write(bytes))));
asked.on('error', () => undefined);
