/** The judge of the fault campaign, judged: what is spoiled is what it reports, and nothing else. */
import { describe, expect, it } from 'vitest';
import { Chance } from '../interaction/faults/chance.ts';
import { Ledger } from './ledger.ts';
import { type Sabotage, Saboteur } from './sabotage.ts';

const CALLS = 20_000;

/** Answers of three principals, in turn, through a saboteur. */
function play(kind: Sabotage | undefined) {
  const ledger = new Ledger();
  const saboteur = new Saboteur(kind, new Chance(7));
  const principals = ['ann', 'bob', 'cyd'];
  for (let n = 0; n < CALLS; n++) {
    const entry = ledger.begin(principals[n % 3] ?? '', 'echo');
    const text = JSON.stringify({ result: { content: [{ type: 'text', text: entry.token }] } });
    saboteur.pass({ entry, text, deliver: (said = text) => ledger.result(entry, said) });
    if (!saboteur.holds(entry)) ledger.ended(entry, 'the answer did not reach its caller');
  }
  saboteur.finish();
  return { ledger, victims: [...saboteur.victims].sort() };
}

const reported = (ledger: Ledger) => [...new Set(ledger.findings.map(({ token }) => token))].sort();

describe('the ledger of the campaign', () => {
  it('reports nothing when nothing is wrong', () => {
    const { ledger } = play(undefined);
    expect(ledger.findings).toEqual([]);
    expect(ledger.answers.get('right')).toBe(CALLS);
  });

  it.each([
    { kind: 'drop', defect: 'lost' },
    { kind: 'double', defect: 'doubled' },
    { kind: 'swap', defect: 'crossed' },
  ] as const)('reports exactly the answers that were spoiled: $kind', ({ kind, defect }) => {
    const { ledger, victims } = play(kind);
    expect(victims.length).toBeGreaterThan(5);
    expect(reported(ledger)).toEqual(victims);
    expect(new Set(ledger.findings.map((finding) => finding.defect))).toContain(defect);
  });

  it('reports a request that a backend executed twice as a duplicated call', () => {
    const ledger = new Ledger();
    const { token } = ledger.begin('ann', 'echo');
    ledger.executed(token);
    expect(ledger.findings).toEqual([]);
    ledger.executed(token);
    expect(ledger.findings).toMatchObject([{ defect: 'doubled', token }]);
  });

  it('reports an error without a reason, and a result without its token, as defects', () => {
    const ledger = new Ledger();
    ledger.error(ledger.begin('ann', 'echo'), undefined, '{}');
    ledger.result(ledger.begin('ann', 'echo'), '{"result":{}}');
    ledger.error(ledger.begin('ann', 'echo'), 'backend_busy', '{}');
    expect(ledger.findings.map(({ defect }) => defect)).toEqual(['nameless', 'lost']);
  });
});
