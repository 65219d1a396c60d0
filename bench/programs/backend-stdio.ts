/** The same backends over stdio; the first argument is the era. */
import { Answers, type Era, type Incoming } from './answers.ts';

const answers = new Answers(process.argv[2] as Era);
let rest: Buffer = Buffer.alloc(0);

process.stdin.on('data', (chunk: Buffer) => {
  rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
  for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
    const message = JSON.parse(rest.toString('utf8', 0, end)) as Incoming;
    rest = rest.subarray(end + 1);
    // Always in the order of the questions: the bare bridge depends on it.
    if (message.id === undefined || message.method === undefined) continue;
    process.stdout.write(Buffer.concat([answers.answer(message).bytes, Buffer.from('\n')]));
  }
});
process.stdin.on('end', () => process.exit(0));
