/** The demo server as a program: standard input and output carry the protocol, standard error the complaints. */
import { Connection } from './connection.ts';
import { lines, lineWriter } from './stdio.ts';

/** A client that still reads does so at once; the usual grace before a kill is longer. */
const maxLastWordsMs = 1000;

const { stdin, stdout, stderr } = process;

const connection = new Connection({
  send: lineWriter(stdout),
  complain: (error) => stderr.write(`${error instanceof Error ? error.stack : error}\n`),
});

/** Ends the loop below as the end of input does. */
const stop = (): void => {
  stdin.destroy();
};
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
// Nobody reads any more. Each write that was under way fails by itself, so there can be several errors.
stdout.on('error', stop);
stdout.once('close', stop);

void serve();

async function serve(): Promise<void> {
  try {
    for await (const line of lines(stdin)) {
      if ('unreadable' in line) connection.unreadable(line.unreadable);
      else void connection.receive(line.value);
    }
  } catch {
    // A destroyed or broken input is an end like any other.
  }
  connection.close();
  // Nothing is left to keep the process alive, so it exits by itself once its last words are read, or have waited long
  // enough.
  setTimeout(() => process.exit(1), maxLastWordsMs).unref();
}
