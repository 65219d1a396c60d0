// A legacy stdio backend that hands over every line that it gets. Usage: node recorder.js <port>
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { answerTo } from './answers.js';

const socket = connect(Number(process.argv[2]), '127.0.0.1');
socket.on('error', () => process.exit(1));
socket.on('close', () => process.exit(0));
createInterface({ input: process.stdin })
  .on('line', (line) => {
    socket.write(`${Buffer.from(line).toString('base64')}\n`);
    let message = {};
    try {
      message = JSON.parse(line);
    } catch {
      // The driver judges what it was.
    }
    const answer = answerTo(message, 'legacy');
    if (answer !== undefined) process.stdout.write(`${JSON.stringify(answer)}\n`);
  })
  .on('close', () => process.exit(0));
