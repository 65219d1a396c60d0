/** How many messages of each kind got through. A run in which hardly anything does proves nothing. */
import type { Verdict } from './fronts.ts';

interface Count {
  sent: number;
  known: number;
  accepted: number;
}

/** A fifth of the messages has to be accepted. */
const LEAST_ACCEPTED = 0.2;
/** Below this a count says nothing. */
const ENOUGH = 200;

export class Tally {
  sent = 0;
  forwarded = 0;
  readonly #fronts = new Map<string, Count>();
  readonly #tricks = new Map<string, Count>();

  count(front: string, tricks: readonly string[], verdict: Verdict): void {
    this.sent++;
    add(this.#fronts, front, verdict);
    for (const trick of new Set(tricks)) add(this.#tricks, trick, verdict);
  }

  table(): string {
    const rows = [...this.#fronts, ...[...this.#tricks].sort(([a], [b]) => a.localeCompare(b))];
    return rows
      .map(([name, { sent, known, accepted }]) => {
        const share = known === 0 ? '   -' : `${String(Math.round((100 * accepted) / known)).padStart(3)}%`;
        return `${String(sent).padStart(8)} ${share} accepted  ${name}`;
      })
      .join('\n');
  }

  /** What keeps the run from proving anything. */
  tooFew(): string[] {
    const all = [...this.#fronts.values()];
    const known = all.reduce((sum, count) => sum + count.known, 0);
    const accepted = all.reduce((sum, count) => sum + count.accepted, 0);
    const silent = [...this.#fronts].filter(([, count]) => count.known >= ENOUGH && count.accepted === 0);
    return [
      ...(accepted < LEAST_ACCEPTED * known ? [`TOO FEW: ${accepted} of ${known} messages were accepted`] : []),
      ...silent.map(([name]) => `TOO FEW: nothing was accepted over ${name}`),
    ];
  }
}

function add(counts: Map<string, Count>, name: string, verdict: Verdict): void {
  const count = counts.get(name) ?? { sent: 0, known: 0, accepted: 0 };
  counts.set(name, count);
  count.sent++;
  if (verdict !== undefined) count.known++;
  if (verdict === 'accepted') count.accepted++;
}
