/** Standard input and output. */
import { answerIn, type JsonObject, type PeerReply, summary } from '../../peer/reply.ts';
import { all, broken, expectResult, held, notTested, type StdioCheck, unless, withVersionHeader } from '../check.ts';

export const stdioChecks: readonly StdioCheck[] = [
  {
    id: 'protocol:notifications:no-response',
    behaviour: 'A notification is not answered, whether the server knows it or not.',
    spec: '2025-11-25/basic#notifications',
    level: 'must',
    revisions: all,
    run: async (talk) => {
      await talk.notify('notifications/bascule-check-unknown');
      // Whatever the notification causes comes before the next answer.
      const reply = await talk.request(talk.harmless);
      return unless(reply.others.some(isUnasked) && 'there is a response', reply);
    },
  },
  {
    id: 'gateway:stdio:unreadable-line',
    behaviour: 'After a line that is no JSON, the next request is served.',
    spec: '2025-11-25/basic/transports#stdio',
    level: 'should',
    revisions: all,
    run: async (talk) => {
      await talk.peer.send('{"jsonrpc": "2.0",');
      // The error for the line has no id, and may be taken for the answer to the next request.
      const first = await talk.request(talk.harmless);
      return first.answer?.result === undefined ? expectResult(await talk.request(talk.harmless)) : held;
    },
  },
  {
    id: 'gateway:stdio:batch-refused',
    behaviour: 'A batch is not served: the revision has none.',
    spec: '2025-06-18/changelog#major-changes',
    level: 'should',
    revisions: [...withVersionHeader, '2026-07-28'],
    run: async (talk) => {
      const id = talk.nextId();
      await talk.peer.send(`[${talk.harmlessText(id)}]`);
      const reply = await talk.request(talk.harmless);
      const isServed = [...reply.others, ...talk.peer.noise.map(arrayIn)].some((message) => holds(message, id));
      return isServed ? broken(reply, 'the request in the batch is answered') : held;
    },
  },
  {
    id: 'transport:stdio:stream-purity',
    behaviour: 'Standard output carries messages alone, each on one line.',
    spec: '2025-11-25/basic/transports#stdio',
    level: 'must',
    revisions: all,
    run: async (talk, lab) => {
      const [line] = talk.peer.noise.filter((one) => !one.startsWith('['));
      const reply = lab.openings.get(talk.era)?.reply as PeerReply;
      if (line === undefined) return held;
      return { outcome: 'broken', found: 'a line is no message', bytes: { sent: reply.bytes.sent, received: line } };
    },
  },
  {
    id: 'transport:stdio:clean-shutdown',
    behaviour: 'The process ends when its standard input is closed.',
    spec: '2026-07-28/basic/transports/stdio#shutdown',
    level: 'should',
    revisions: all,
    run: async (_talk, lab) => {
      const opening = await lab.connect();
      if ('finding' in opening) return notTested(opening.detail);
      const reply = await opening.send('{"jsonrpc":"2.0","id":1,"method":"ping"}', { id: 1 });
      const problem = await opening.close();
      return problem === undefined ? held : broken(reply, `${problem} (before: ${summary(reply)})`);
    },
  },
];

/** A response to no request of ours: those have numbers. A late answer to one of them is not meant. */
function isUnasked(message: JsonObject): boolean {
  return answerIn(message) !== undefined && typeof message.id !== 'number';
}

function arrayIn(line: string): unknown {
  try {
    return line.startsWith('[') ? JSON.parse(line) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it is the response with this id, alone or in an array. */
function holds(message: unknown, id: number): boolean {
  return [message].flat().some((one) => {
    const { id: own, result } = (one ?? {}) as { readonly id?: unknown; readonly result?: unknown };
    return own === id && result !== undefined;
  });
}
