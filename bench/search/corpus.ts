/** The servers, their tools, and the questions. */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Server {
  readonly name: string;
  readonly package: string;
  readonly version: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Question {
  readonly id: string;
  readonly text: string;
  /** `server/tool`, the best first. Empty: no tool is right. */
  readonly answers: readonly string[];
}

export type Listed = Readonly<Record<string, readonly { readonly name: string }[]>>;

export const serverDirectory = join(tmpdir(), 'bascule-search');
export const listedFile = 'listed.json';

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
const rows = (name: string): string[][] =>
  read(name)
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));

export const servers = JSON.parse(read('servers.json')) as readonly Server[];

export function readListed(directory: string): Listed {
  return JSON.parse(readFileSync(join(directory, listedFile), 'utf8')) as Listed;
}

export function readQuestions(): readonly Question[] {
  const answers = new Map(rows('answers.tsv').map(([id = '', tools = '']) => [id, tools]));
  return rows('questions.tsv').map(([id = '', , text = '']) => {
    const tools = answers.get(id) ?? '-';
    return { id, text, answers: tools === '-' ? [] : tools.split(',') };
  });
}
