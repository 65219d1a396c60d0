/**
 * Every request of the campaign carries a token, and every answer has to bring it back. The ledger knows what is open
 * and judges what comes: right, a named error, or a defect.
 */
export type Defect = 'lost' | 'doubled' | 'crossed' | 'hung' | 'nameless' | 'revived';

export interface Entry {
  readonly token: string;
  readonly principal: string;
  readonly what: string;
  readonly begunAt: number;
  state: 'open' | 'answered' | 'abandoned';
}

export interface Finding {
  readonly defect: Defect;
  readonly token: string;
  readonly what: string;
  readonly detail: string;
}

export class Ledger {
  readonly findings: Finding[] = [];
  /** By kind of answer: `right`, or the reason of an error. */
  readonly answers = new Map<string, number>();
  /** By the reason of an error: the longest time until it came, in milliseconds. */
  readonly longest = new Map<string, number>();
  /** By the reason of an error: what failed, and how often. */
  readonly failed = new Map<string, Map<string, number>>();
  readonly #entries = new Map<string, Entry>();
  readonly #onFinding: (finding: Finding) => void;
  readonly #executed = new Map<string, number>();
  #count = 0;
  #abandoned = 0;
  #refused = 0;

  constructor(onFinding: (finding: Finding) => void = () => undefined) {
    this.#onFinding = onFinding;
  }

  begin(principal: string, what: string): Entry {
    const token = `t${(++this.#count).toString(36)}-${principal}-${Math.random().toString(36).slice(2, 10)}`;
    const entry: Entry = { token, principal, what, begunAt: Date.now(), state: 'open' };
    this.#entries.set(token, entry);
    return entry;
  }

  /** The client went away itself: no answer is owed, and none may come. */
  abandon(entry: Entry): void {
    if (entry.state !== 'open') return;
    entry.state = 'abandoned';
    this.#abandoned++;
    this.#forget(entry);
  }

  /** What had to fail with the process that served it. `kind`: what became of that. */
  excuse(entry: Entry, kind: string): void {
    if (!this.#settle(entry)) return;
    this.#tally(kind);
  }

  /** The system had no descriptor for the connection: the gateway never heard of it. */
  refuse(entry: Entry): void {
    if (entry.state !== 'open') return;
    entry.state = 'abandoned';
    this.#refused++;
    this.#forget(entry);
  }

  /** A result that was meant for this entry. `text` is all of it: it must hold this token and no other. */
  result(entry: Entry, text: string): void {
    if (!this.#settle(entry)) return;
    const tokens = new Set(text.match(/t[0-9a-z]+-[a-z]+-[0-9a-z]+/g) ?? []);
    if (tokens.size === 1 && tokens.has(entry.token)) this.#tally('right');
    else if (tokens.size === 0) this.find('lost', entry, `a result without its token: ${text.slice(0, 200)}`);
    else this.find('crossed', entry, `a result with ${[...tokens].join(', ')}`);
  }

  /** An error answer. One without a reason that programs can match on is a defect too. */
  error(entry: Entry, reason: string | undefined, text: string): void {
    if (!this.#settle(entry)) return;
    const foreign = (text.match(/t[0-9a-z]+-[a-z]+-[0-9a-z]+/g) ?? []).filter((token) => token !== entry.token);
    if (foreign.length > 0) this.find('crossed', entry, `an error with ${foreign.join(', ')}`);
    else if (reason === undefined) this.find('nameless', entry, text.slice(0, 300));
    else this.#tally(reason, entry);
  }

  /** The connection ended, and nothing had come. */
  ended(entry: Entry, detail: string): void {
    if (entry.state !== 'open') return;
    entry.state = 'answered';
    this.find('lost', entry, detail);
    this.#forget(entry);
  }

  hung(entry: Entry): void {
    if (entry.state !== 'open') return;
    entry.state = 'answered';
    this.find('hung', entry, `no answer after ${Date.now() - entry.begunAt} ms`);
    this.#forget(entry);
  }

  /** A backend did the work of a call. */
  executed(token: string): void {
    const times = (this.#executed.get(token) ?? 0) + 1;
    this.#executed.set(token, times);
    if (times === 2) this.#found({ defect: 'doubled', token, what: 'tools/call', detail: 'a backend did it twice' });
  }

  /** Something that is worth counting. */
  note(kind: string): void {
    this.#tally(kind);
  }

  /** A session answered after its end was acknowledged. */
  revived(session: string): void {
    this.#found({ defect: 'revived', token: session, what: 'a session', detail: 'it answers after its DELETE' });
  }

  find(defect: Defect, { token, what }: Entry, detail: string): void {
    this.#found({ defect, token, what, detail });
  }

  get total(): number {
    return this.#count;
  }

  get abandoned(): number {
    return this.#abandoned;
  }

  get refused(): number {
    return this.#refused;
  }

  get open(): number {
    return this.#entries.size;
  }

  #found(finding: Finding): void {
    this.findings.push(finding);
    this.#onFinding(finding);
  }

  #settle(entry: Entry): boolean {
    if (entry.state === 'abandoned') return false;
    if (entry.state === 'answered') {
      this.find('doubled', entry, 'a second answer');
      return false;
    }
    entry.state = 'answered';
    this.#forget(entry);
    return true;
  }

  #forget({ token }: Entry): void {
    this.#entries.delete(token);
  }

  #tally(kind: string, entry?: Entry): void {
    if (entry !== undefined) {
      this.longest.set(kind, Math.max(this.longest.get(kind) ?? 0, Date.now() - entry.begunAt));
      const failed = this.failed.get(kind) ?? new Map<string, number>();
      this.failed.set(kind, failed.set(entry.what, (failed.get(entry.what) ?? 0) + 1));
    }
    this.answers.set(kind, (this.answers.get(kind) ?? 0) + 1);
  }
}
