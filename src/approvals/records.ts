/** Questions as records of the store: each is read, compared and replaced as one text. */
import type { Records } from '../store/ports.ts';
import type { ApprovalQuestion } from './ports.ts';

const COLLECTION = 'approval';
/** A record outlives its question, so that the process that asked can tell that no answer came. */
const GRACE_MS = 60_000;

export interface StoredQuestion {
  readonly question: ApprovalQuestion;
  /** As it is stored. */
  readonly text: string;
}

interface RecordPorts {
  readonly records: () => Promise<Records>;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
}

export class QuestionRecords {
  readonly #ports: RecordPorts;

  constructor(ports: RecordPorts) {
    this.#ports = ports;
  }

  /** A question whose time is over counts as absent, unless it is asked for. */
  async read(key: string, which?: 'also over'): Promise<StoredQuestion | undefined> {
    const text = await (await this.#ports.records()).get(COLLECTION, key);
    if (text === undefined) return undefined;
    const question = JSON.parse(text) as ApprovalQuestion;
    const isOver = question.until <= this.#ports.timeOfDay();
    return isOver && which === undefined ? undefined : { question, text };
  }

  /** False where the record is not as it was read. `seen`: undefined where there is none, or an old one. */
  async change(key: string, seen: StoredQuestion | undefined, next: ApprovalQuestion): Promise<boolean> {
    const records = await this.#ports.records();
    const before = seen ?? (await this.read(key, 'also over'));
    if (seen === undefined && before !== undefined && before.question.until > this.#ports.timeOfDay()) return false;
    return records.replace(COLLECTION, key, before?.text, JSON.stringify(next), next.until + GRACE_MS);
  }

  async put(key: string, question: ApprovalQuestion): Promise<void> {
    const records = await this.#ports.records();
    await records.put(COLLECTION, key, JSON.stringify(question), question.until + GRACE_MS);
  }

  /** False where the record is not as it was read: another has taken it. */
  async remove(key: string, { text }: StoredQuestion): Promise<boolean> {
    return (await this.#ports.records()).replace(COLLECTION, key, text, undefined);
  }

  /** How many there are, up to `most`. */
  async count(prefix: string, most: number): Promise<number> {
    return (await (await this.#ports.records()).keys(COLLECTION, prefix, most)).length;
  }

  async all(most: number): Promise<readonly ApprovalQuestion[]> {
    const keys = await (await this.#ports.records()).keys(COLLECTION, '', most);
    const found = await Promise.all(keys.map((key) => this.read(key)));
    return found.flatMap((one) => one?.question ?? []);
  }
}
