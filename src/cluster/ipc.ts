/**
 * Questions and answers between the primary process and a worker, over the channel that Node gives them. Both sides are
 * the same program. A question that has no handler yet waits for it: a worker is asked before it has started.
 */

/** One end of the channel: a `cluster.Worker`, or the process itself. */
export interface IpcChannel {
  send(message: object, sent: (error: Error | null) => void): unknown;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'disconnect', listener: () => void): unknown;
}

interface QuestionMessage {
  readonly bascule: 'question';
  readonly id: number;
  readonly kind: string;
  readonly body: unknown;
}

interface AnswerMessage {
  readonly bascule: 'answer';
  readonly id: number;
  readonly body?: unknown;
  /** Why there is none. */
  readonly failed?: string;
}

interface OpenQuestion {
  resolve(body: unknown): void;
  reject(error: Error): void;
}

type AnswerTo = (body: never) => unknown;

/** Questions that wait for their handler. Each comes from one place, which asks again only after an answer. */
const MOST_EARLY = 100;

/** `Kinds`: what a question of each kind carries, and what its answer is. */
export class IpcPeer<Kinds extends Record<keyof Kinds, { readonly ask: unknown; readonly answer: unknown }>> {
  readonly #channel: IpcChannel;
  readonly #open = new Map<number, OpenQuestion>();
  readonly #answers = new Map<string, AnswerTo>();
  #early: QuestionMessage[] = [];
  #asked = 0;
  #isGone = false;

  constructor(channel: IpcChannel) {
    this.#channel = channel;
    channel.on('message', (message) => this.#hear(message as QuestionMessage | AnswerMessage | undefined));
    channel.on('disconnect', () => {
      this.#isGone = true;
      for (const { reject } of this.#open.values()) reject(new Error('the process ended'));
    });
  }

  /** Rejects where the other side fails, ends, or takes longer. */
  async ask<Kind extends keyof Kinds & string>(
    kind: Kind,
    body: Kinds[Kind]['ask'],
    withinMs: number,
  ): Promise<Kinds[Kind]['answer']> {
    const id = ++this.#asked;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<unknown>((resolve, reject) => {
        if (this.#isGone) throw new Error('the process ended');
        this.#open.set(id, { resolve, reject });
        timer = setTimeout(() => reject(new Error(`no answer within ${withinMs / 1000} s`)), withinMs);
        this.#send({ bascule: 'question', id, kind, body }, reject);
      });
    } finally {
      clearTimeout(timer);
      this.#open.delete(id);
    }
  }

  answer<Kind extends keyof Kinds & string>(
    kind: Kind,
    answer: (body: Kinds[Kind]['ask']) => Kinds[Kind]['answer'] | Promise<Kinds[Kind]['answer']>,
  ): void {
    this.#answers.set(kind, answer);
    const early = this.#early;
    this.#early = early.filter((question) => question.kind !== kind);
    for (const question of early) if (question.kind === kind) void this.#reply(question, answer);
  }

  #hear(message: QuestionMessage | AnswerMessage | undefined): void {
    if (message?.bascule === 'answer') {
      const open = this.#open.get(message.id);
      if (message.failed === undefined) open?.resolve(message.body);
      else open?.reject(new Error(message.failed));
    } else if (message?.bascule === 'question') {
      const answer = this.#answers.get(message.kind);
      if (answer !== undefined) void this.#reply(message, answer);
      else if (this.#early.length < MOST_EARLY) this.#early.push(message);
      else this.#send({ bascule: 'answer', id: message.id, failed: `nothing answers \`${message.kind}\`` });
    }
  }

  async #reply({ id, body }: QuestionMessage, answer: AnswerTo): Promise<void> {
    try {
      this.#send({ bascule: 'answer', id, body: await answer(body as never) });
    } catch (error) {
      this.#send({ bascule: 'answer', id, failed: error instanceof Error ? error.message : String(error) });
    }
  }

  /** A channel that is closed ends every question, so an answer that cannot be sent is not needed. */
  #send(message: QuestionMessage | AnswerMessage, failed: (error: Error) => void = () => undefined): void {
    if (this.#isGone) return;
    this.#channel.send(message, (error) => {
      if (error !== null) failed(error);
    });
  }
}
