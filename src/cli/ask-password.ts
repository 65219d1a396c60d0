/** Reads a password from the terminal, without showing it, or from a pipe. */
import type { ReadStream } from 'node:tty';
import { ListFileError } from '../identity/list-file.ts';

/** Longer than a password may be. */
const MOST_CHARS = 4_096;

/** Asks twice, because the typed characters are not shown. */
export async function askTwice(input: ReadStream, show: (text: string) => void): Promise<string> {
  if (!input.isTTY)
    throw new ListFileError(
      'stdin is not a terminal, so the password cannot be asked for; pass it through a pipe with --password-stdin',
    );
  const first = await ask('Password: ', input, show);
  const second = await ask('Again: ', input, show);
  if (first !== second) throw new ListFileError('the two passwords differ');
  return first;
}

/** Reads the first line. */
export async function fromPipe(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  let text = '';
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
    if (text.includes('\n') || text.length > MOST_CHARS) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? '';
}

const keys = { enter: /[\r\n]/, interrupt: '\u0003', end: '\u0004', erase: /[\b\u007f]/ } as const;

function ask(question: string, input: ReadStream, show: (text: string) => void): Promise<string> {
  show(question);
  input.setRawMode(true);
  input.setEncoding('utf8');
  input.resume();
  return new Promise((resolve, reject) => {
    let typed = '';
    const stop = () => {
      input.off('data', take);
      input.setRawMode(false);
      input.pause();
      show('\n');
    };
    const take = (chunk: string) => {
      for (const key of chunk) {
        if (keys.enter.test(key)) {
          stop();
          resolve(typed);
          return;
        }
        if (key === keys.interrupt || key === keys.end) {
          stop();
          reject(new ListFileError('nothing was changed'));
          return;
        }
        typed = keys.erase.test(key) ? typed.slice(0, -1) : (typed + key).slice(0, MOST_CHARS);
      }
    };
    input.on('data', take);
  });
}
