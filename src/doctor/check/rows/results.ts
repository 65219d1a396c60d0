/** Results of 2026-07-28: their type, their cache hints, and the acknowledgement of a subscription. */
import { metaKeys } from '../../../wire/vocabulary.ts';
import { lists } from '../../lists.ts';
import { codeOf, type JsonObject, objectIn, type PeerReply, summary } from '../../peer/reply.ts';
import type { Talk } from '../../talk.ts';
import { broken, type CheckVerdict, codes, held, modern, notApplicable, type TalkCheck, unless } from '../check.ts';
import type { Lab } from '../lab.ts';

const acknowledged = 'notifications/subscriptions/acknowledged';

export const resultChecks: readonly TalkCheck[] = [
  {
    id: 'gateway:modern:result-type',
    behaviour: 'Every result has a `resultType`.',
    spec: '2026-07-28/basic#resulttype',
    level: 'must',
    revisions: modern,
    run: (talk, lab) =>
      ofResults(talk, lab, ({ resultType }) =>
        typeof resultType === 'string' ? undefined : '`resultType` is missing',
      ),
  },
  {
    id: 'gateway:modern:cache-hints',
    behaviour: 'Discovery and lists carry `ttlMs`, a whole number from 0, and `cacheScope`, public or private.',
    spec: '2026-07-28/server/utilities/caching#cacheable-results',
    level: 'must',
    revisions: modern,
    run: (talk, lab) =>
      ofResults(talk, lab, ({ ttlMs, cacheScope }) => {
        if (!Number.isInteger(ttlMs) || (ttlMs as number) < 0) return `\`ttlMs\` is ${JSON.stringify(ttlMs)}`;
        return cacheScope === 'public' || cacheScope === 'private'
          ? undefined
          : `\`cacheScope\` is ${JSON.stringify(cacheScope)}`;
      }),
  },
  {
    id: 'gateway:modern:cache-hints#pages',
    behaviour: 'All pages of a list have the same `cacheScope`.',
    spec: '2026-07-28/server/utilities/caching#interaction-with-pagination',
    level: 'must',
    revisions: modern,
    run: async (talk, lab) => {
      for (const reply of await replies(talk, lab, true)) {
        const [first, ...others] = reply;
        const scope = first?.answer?.result?.cacheScope;
        const other = others.find(({ answer }) => answer?.result !== undefined && answer.result.cacheScope !== scope);
        if (other !== undefined) return broken(other, 'a later page has another `cacheScope` than the first');
      }
      return held;
    },
  },
  {
    id: 'gateway:modern:listen-ack-first',
    behaviour: '`subscriptions/listen` begins with its acknowledgement.',
    spec: '2026-07-28/basic/patterns/subscriptions#acknowledgment',
    level: 'must',
    revisions: modern,
    run: (talk) =>
      ofSubscription(talk, ({ first, reply }) =>
        unless(first?.method !== acknowledged && `the first message is ${describe(first, reply)}`, reply),
      ),
  },
  {
    id: 'gateway:modern:listen-own-id',
    behaviour: 'The acknowledgement carries the id of the request as subscription id.',
    spec: '2026-07-28/basic/patterns/subscriptions#receiving-notifications',
    level: 'must',
    revisions: modern,
    run: (talk) =>
      ofSubscription(talk, ({ first, reply, id }) => {
        const named = objectIn(objectIn(first?.params)?._meta)?.[metaKeys.subscriptionId];
        return unless(named !== id && `the id is ${JSON.stringify(named)}, and ${JSON.stringify(id)} was asked`, reply);
      }),
  },
  {
    id: 'gateway:modern:listen-filter',
    behaviour: 'The acknowledgement names nothing that was not asked for.',
    spec: '2026-07-28/basic/patterns/subscriptions#opening-a-stream',
    level: 'must',
    revisions: modern,
    run: (talk) =>
      ofSubscription(talk, ({ first, reply }) => {
        const named = objectIn(objectIn(first?.params)?.notifications) ?? {};
        const more = Object.keys(named).filter((key) => key !== asked && named[key] !== false);
        return unless(more.length > 0 && `it names ${more.join(', ')}`, reply);
      }),
  },
];

const asked = 'toolsListChanged';

interface Subscribed {
  readonly first: JsonObject | undefined;
  readonly reply: PeerReply;
  readonly id: number;
}

/** Listens until the first message. Over HTTP, leaving the stream ends the subscription; over stdio a message does. */
async function ofSubscription(talk: Talk, judge: (subscribed: Subscribed) => CheckVerdict): Promise<CheckVerdict> {
  const id = talk.nextId();
  const params = { notifications: { [asked]: true } };
  const reply = await talk.request('subscriptions/listen', params, { id, until: () => true });
  if (talk.peer.kind === 'stdio') await talk.notify('notifications/cancelled', { requestId: id });
  if (codeOf(reply) === codes.methodNotFound) return notApplicable('the server has no subscriptions (-32601)');
  // On a pipe, the end of an earlier subscription may come late.
  return judge({ first: reply.others.find(({ method }) => method !== undefined), reply, id });
}

function describe(first: JsonObject | undefined, reply: PeerReply): string {
  return first === undefined ? summary(reply) : String(first.method ?? 'a response');
}

/** The pages of discovery and of each declared list. */
async function replies(talk: Talk, lab: Lab, listsAlone = false): Promise<(readonly PeerReply[])[]> {
  const opening = lab.openings.get('modern')?.reply;
  const found: (readonly PeerReply[])[] = listsAlone || opening === undefined ? [] : [[opening]];
  for (const { member, capability } of lists)
    if (talk.capabilities[capability] !== undefined) found.push((await lab.list(talk, member)).pages);
  return found;
}

async function ofResults(
  talk: Talk,
  lab: Lab,
  fault: (result: JsonObject) => string | undefined,
): Promise<CheckVerdict> {
  for (const reply of (await replies(talk, lab)).flat()) {
    const found = reply.answer?.result === undefined ? undefined : fault(reply.answer.result);
    if (found !== undefined) return broken(reply, found);
  }
  return held;
}
