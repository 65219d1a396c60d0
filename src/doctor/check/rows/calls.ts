/** What happens in the middle of a call: progress, requests of the server, and cancellation. */
import { answerIn, type JsonObject, objectIn, type PeerReply } from '../../peer/reply.ts';
import type { Talk } from '../../talk.ts';
import {
  all,
  broken,
  type CheckVerdict,
  expectResult,
  held,
  legacy,
  notApplicable,
  notTested,
  type TalkCheck,
  unless,
} from '../check.ts';
import type { Lab } from '../lab.ts';
import { isServerRequest, noTool, progressToken } from '../named-tool.ts';

const progress = '2025-11-25/basic/utilities/progress#behavior-requirements';
const cancellation = '2025-11-25/basic/utilities/cancellation#behavior-requirements';

/** How long a cancelled call is listened to. A call that ends later than this is not noticed. */
const CANCELLED_MS = 2_000;

export const callChecks: readonly TalkCheck[] = [
  {
    id: 'protocol:progress:callback',
    behaviour: 'Progress during a call has the token of the call.',
    spec: '2025-11-25/basic/utilities/progress#progress-flow',
    level: 'must',
    revisions: all,
    run: (talk, lab) =>
      ofProgress(talk, lab, (told) => {
        const other = told.find((params) => params.progressToken !== progressToken);
        return other && `the token is ${JSON.stringify(other.progressToken)}, and not that of the request`;
      }),
  },
  {
    id: 'protocol:progress:monotonic',
    behaviour: 'Progress is a number that rises with each notification.',
    spec: progress,
    level: 'must',
    revisions: all,
    run: (talk, lab) =>
      ofProgress(talk, lab, (told) => {
        const values = told.map((params) => params.progress);
        const at = values.findIndex((value, index) => !isAbove(value, values[index - 1]));
        if (at === -1) return undefined;
        return `\`progress\` is ${[values[at - 1], values[at]].map((value) => JSON.stringify(value)).join(', then ')}`;
      }),
  },
  {
    id: 'protocol:progress:no-token',
    behaviour: 'A call without a progress token gets no progress.',
    spec: progress,
    level: 'must',
    revisions: all,
    run: async (talk, { tool }) => {
      if (tool === undefined) return noTool;
      const reply = await tool.calledPlainly(talk);
      return unless(progressIn(reply).length > 0 && 'there is progress that was not asked for', reply);
    },
  },
  {
    id: 'lifecycle:capability:client-not-declared',
    behaviour: 'During a call, the server asks nothing of a client that has declared no capabilities.',
    spec: '2025-11-25/basic/lifecycle#operation',
    level: 'must',
    revisions: all,
    run: async (talk, { tool }) => {
      if (tool === undefined) return noTool;
      const reply = await tool.called(talk);
      const asked = [...reply.others.filter(isServerRequest), ...inputRequests(reply)].map(({ method }) => method);
      return unless(asked.length > 0 && `the server asks for ${asked.join(', ')}`, reply);
    },
  },
  {
    id: 'protocol:cancel:unknown-id-ignored',
    behaviour: 'A cancellation of a request that does not exist changes nothing: the next request is served.',
    spec: '2025-11-25/basic/utilities/cancellation#error-handling',
    level: 'should',
    revisions: all,
    run: async (talk) => {
      await talk.notify('notifications/cancelled', { requestId: 'bascule-check-no-such-request' });
      return expectResult(await talk.request(talk.harmless));
    },
  },
  {
    id: 'protocol:cancel:in-flight',
    behaviour: 'A call that was cancelled is not answered any more.',
    spec: cancellation,
    level: 'should',
    revisions: legacy,
    run: async (_talk, lab) => {
      if (lab.tool === undefined) return noTool;
      // A session of its own: what is left of the call must not disturb the checks that follow.
      const opening = await lab.session(undefined, CANCELLED_MS);
      if ('finding' in opening) return notTested(opening.detail);
      const { talk } = opening;
      return talk === undefined ? notTested('a second session could not be opened') : cancelled(talk, lab.tool.params);
    },
  },
];

function progressIn({ others }: PeerReply): readonly JsonObject[] {
  const told = others.filter(({ method }) => method === 'notifications/progress');
  return told.map(({ params }) => objectIn(params) ?? {});
}

async function ofProgress(
  talk: Talk,
  { tool }: Lab,
  fault: (told: readonly JsonObject[]) => string | undefined,
): Promise<CheckVerdict> {
  if (tool === undefined) return noTool;
  const reply = await tool.called(talk);
  const told = progressIn(reply);
  return told.length === 0 ? notApplicable('the tool reports no progress') : unless(fault(told), reply);
}

function isAbove(value: unknown, before: unknown): boolean {
  return typeof value === 'number' && (typeof before !== 'number' || value > before);
}

/** 2026-07-28: what the server asks comes as a result. */
function inputRequests({ answer }: PeerReply): readonly JsonObject[] {
  const { resultType, inputRequests: asked } = answer?.result ?? {};
  if (resultType !== 'input_required') return [];
  return Object.values(objectIn(asked) ?? {}).map((one) => objectIn(one) ?? {});
}

/**
 * The answer to a `ping` after the cancellation tells that the server has read the cancellation. A call that is
 * answered before that may have ended by itself.
 */
async function cancelled(talk: Talk, params: JsonObject): Promise<CheckVerdict> {
  const id = talk.nextId();
  const text = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
  // Each request over HTTP has a response of its own; elsewhere all responses come on one stream.
  const isApart = talk.peer.kind === 'http';
  let isAnswered = false;
  const calling = talk.raw(text, isApart ? id : undefined, 'tools/call').then((reply) => {
    isAnswered = reply.answer !== undefined;
    return reply;
  });
  if (!isApart) await calling;
  await talk.notify('notifications/cancelled', { requestId: id });
  const ping = await talk.request('ping');
  if (isAnswered || ping.others.some((message) => answerIn(message)?.id === id))
    return notTested('the tool had ended before its call could be cancelled');
  const late = isApart ? await calling : await talk.raw(talk.harmlessText(talk.nextId()), id);
  return late.answer === undefined ? held : broken(late, 'the call is answered after it was cancelled');
}
