/** The metrics of all workers as one text: each sample gets the label `worker`. */
import type { Worker } from 'node:cluster';
import { mergeTexts } from '../observe/metrics/merged-text.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import type { TextFormat } from '../observe/metrics/text.ts';

/** A worker that takes longer is left out of this scrape. */
const ANSWER_MS = 2_000;

interface MetricsQuestion {
  readonly kind: 'bascule metrics';
  readonly id: number;
  readonly format: TextFormat;
}

interface MetricsAnswer {
  readonly kind: 'bascule metrics';
  readonly id: number;
  readonly text: string;
}

export class WorkerMetrics {
  readonly #workers: () => ReadonlyMap<number, Worker>;
  #asked = 0;

  constructor(workers: () => ReadonlyMap<number, Worker>) {
    this.#workers = workers;
  }

  async text(format: TextFormat): Promise<string> {
    const asked = [...this.#workers()].map(async ([seat, worker]) => ({
      worker: String(seat),
      text: await this.#ask(worker, format),
    }));
    const texts = (await Promise.all(asked)).flatMap(({ worker, text }) =>
      text === undefined ? [] : [{ worker, text }],
    );
    return mergeTexts(texts, format);
  }

  #ask(worker: Worker, format: TextFormat): Promise<string | undefined> {
    const id = ++this.#asked;
    return new Promise((resolve) => {
      const done = (text: string | undefined) => {
        clearTimeout(timer);
        worker.off('message', hear);
        resolve(text);
      };
      const hear = (answer: MetricsAnswer) => {
        if (answer.kind === 'bascule metrics' && answer.id === id) done(answer.text);
      };
      const timer = setTimeout(() => done(undefined), ANSWER_MS);
      worker.on('message', hear);
      const question: MetricsQuestion = { kind: 'bascule metrics', id, format };
      worker.send(question, (error) => {
        if (error !== null) done(undefined);
      });
    });
  }
}

/** In a worker: answers the primary. */
export function answerPrimary(metrics: Metrics): void {
  process.on('message', (question: MetricsQuestion) => {
    if (question.kind !== 'bascule metrics') return;
    const answer: MetricsAnswer = { kind: 'bascule metrics', id: question.id, text: metrics.text(question.format) };
    process.send?.(answer);
  });
}
