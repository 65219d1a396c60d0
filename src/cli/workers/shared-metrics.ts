/** The metrics of all workers as one text: each sample gets the label `worker`. */
import { mergeTexts } from '../../observe/metrics/merged-text.ts';
import type { TextFormat } from '../../observe/metrics/text.ts';
import type { Seated } from './questions.ts';

/** A worker that takes longer is left out of this scrape. */
const ANSWER_MS = 2_000;

export async function metricsOfAll(workers: Iterable<Seated>, format: TextFormat): Promise<string> {
  const asked = [...workers].map(async ({ number, peer }) => ({
    worker: String(number),
    text: await peer.ask('metrics', format, ANSWER_MS).catch(() => undefined),
  }));
  const texts = (await Promise.all(asked)).flatMap(({ worker, text }) =>
    text === undefined ? [] : [{ worker, text }],
  );
  return mergeTexts(texts, format);
}
