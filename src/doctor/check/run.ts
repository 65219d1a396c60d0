/** `bascule check`: opens a conversation in each era, and holds every check against it. */

import type { Transport } from '../../upstream/verdict.ts';
import { type Era, era as eraOf, type Revision } from '../../wire/revisions.ts';
import { ruleLink } from '../findings.ts';
import { HttpPeer } from '../peer/http.ts';
import type { Peer } from '../peer/peer.ts';
import { type Bytes, summary, told } from '../peer/reply.ts';
import type { SecretMask } from '../peer/secrets.ts';
import { StdioPeer } from '../peer/stdio.ts';
import { openLegacy, openModern } from '../talk.ts';
import { type NamedCall, secretsOf, type Target } from '../visit.ts';
import { type CheckRow, type CheckVerdict, notApplicable, notTested, type TalkCheck } from './check.ts';
import { Lab } from './lab.ts';
import { authChecks, demandsNothing, Stranger } from './rows/auth.ts';
import { callChecks } from './rows/calls.ts';
import { capabilityChecks } from './rows/capabilities.ts';
import { httpChecks } from './rows/http.ts';
import { legacyHttpChecks } from './rows/http-legacy.ts';
import { modernHttpChecks } from './rows/http-modern.ts';
import { listChecks } from './rows/lists.ts';
import { messageChecks } from './rows/messages.ts';
import { openingChecks } from './rows/opening.ts';
import { resultChecks } from './rows/results.ts';
import { resumptionChecks } from './rows/resumption.ts';
import { OlderServer, sseChecks } from './rows/sse.ts';
import { stdioChecks } from './rows/stdio.ts';

export interface CheckOptions {
  readonly target: Target;
  readonly eras: readonly Era[];
  readonly timeoutMs: number;
  readonly call?: NamedCall | undefined;
}

export interface CheckReport {
  readonly id: string;
  readonly behaviour: string;
  readonly spec: string;
  readonly level: 'must' | 'should';
  readonly revisions: readonly Revision[];
  /** In which conversation. */
  readonly era: Era | 'any';
  readonly outcome: CheckVerdict['outcome'];
  /** Why it was not applicable or not tested. */
  readonly reason?: string;
  /** What was seen instead, where it is broken. */
  readonly found?: string;
  readonly bytes?: Bytes;
}

const everywhere: readonly TalkCheck[] = [
  ...openingChecks,
  ...messageChecks,
  ...listChecks,
  ...capabilityChecks,
  ...resultChecks,
  ...callChecks,
];
const byTransport: Readonly<Record<Transport, readonly TalkCheck[]>> = {
  http: [...everywhere, ...httpChecks, ...legacyHttpChecks, ...resumptionChecks, ...modernHttpChecks],
  // The stream itself has checks of its own.
  sse: everywhere,
  stdio: [...everywhere, ...stdioChecks],
};

/** Every check of every transport, for the documentation and for tests. */
export const checkRows: readonly CheckRow[] = [
  ...new Set<CheckRow>([...byTransport.http, ...byTransport.stdio, ...sseChecks, ...authChecks]),
];

export async function runChecks(options: CheckOptions, say: (report: CheckReport) => void): Promise<CheckReport[]> {
  const secrets = secretsOf(options.target);
  const lab = new Lab({ ...options, secrets });
  const reports: CheckReport[] = [];
  let older: OlderServer | undefined;
  const add = (row: CheckRow, era: CheckReport['era'], verdict: CheckVerdict) => {
    const { id, behaviour, level, revisions } = row;
    const { outcome, ...more } = verdict;
    const shown = 'found' in more ? { ...more, found: told(more.found, secrets) } : hidden(more, secrets);
    const report = { id, behaviour, spec: ruleLink(row.spec), level, revisions, era, outcome, ...shown };
    reports.push(report);
    say(report);
  };
  try {
    for (const era of options.eras) await open(lab, era);
    older = await olderAt(options, lab);
    if (older !== undefined) {
      for (const row of sseChecks) add(row, 'legacy', await row.run(older));
      if (older.opening?.talk !== undefined) lab.useOlder(older.opening, older.options);
    }
    for (const era of options.eras) {
      for (const row of byTransport[lab.transport]) {
        if (!row.revisions.some((revision) => eraOf(revision) === era)) continue;
        add(row, era, await tried(row, era, lab));
      }
    }
    if (options.target.kind === 'http') {
      const stranger = await Stranger.meet({ peer: new HttpPeer(bare(options, lab)), fetching: lab.fetching });
      for (const row of authChecks) add(row, 'any', stranger === undefined ? demandsNothing : await row.run(stranger));
    }
  } finally {
    await older?.close();
    await lab.close();
  }
  return reports;
}

function hidden(more: { readonly reason?: string }, secrets: SecretMask): { readonly reason?: string } {
  return more.reason === undefined ? {} : { reason: told(more.reason, secrets) };
}

function bare({ target, timeoutMs }: CheckOptions, { fetching }: Lab) {
  return { url: target.kind === 'http' ? target.url : '', headers: {}, timeoutMs, secrets: fetching.secrets };
}

/** HTTP+SSE is looked for where the address speaks no era of Streamable HTTP, as clients do. */
async function olderAt({ target, eras, timeoutMs }: CheckOptions, lab: Lab): Promise<OlderServer | undefined> {
  if (target.kind !== 'http' || !eras.includes('legacy') || lab.speaks('legacy') || lab.speaks('modern'))
    return undefined;
  return OlderServer.meet({ url: target.url, headers: target.headers, timeoutMs, secrets: lab.fetching.secrets });
}

async function open(lab: Lab, era: Era): Promise<void> {
  const peer = await lab.connect();
  if ('finding' in peer) {
    const reply = { answer: undefined, others: [], fault: peer, http: undefined, bytes: { sent: '', received: '' } };
    lab.openings.set(era, { talk: undefined, reply, fault: peer });
    return;
  }
  lab.openings.set(era, era === 'modern' ? await openModern<Peer>(peer) : await openLegacy<Peer>(peer));
}

/** A process that a check has ended is started again for the next one. */
async function tried(row: TalkCheck, era: Era, lab: Lab): Promise<CheckVerdict> {
  const before = lab.openings.get(era)?.talk?.peer;
  if (before instanceof StdioPeer && before.isOver) await open(lab, era);
  const { talk, reply, fault } = lab.openings.get(era) ?? {};
  if (talk === undefined) {
    const status = reply?.http?.status;
    if (status === 401 || status === 403)
      return notTested(`the server demands credentials (HTTP ${status}): use --header`);
    if (fault !== undefined && isOutage(fault.finding)) return notTested(`${fault.finding}: ${fault.detail}`);
    return notApplicable(`the server does not speak this era (${reply === undefined ? 'no answer' : summary(reply)})`);
  }
  if (!row.revisions.includes(talk.revision)) return notApplicable(`the version in use is ${talk.revision}`);
  return row.run(talk, lab);
}

/** Faults after which nothing is known about the era. */
function isOutage(finding: string): boolean {
  return !['http_status', 'no_response', 'not_a_message', 'era_not_spoken'].includes(finding);
}
