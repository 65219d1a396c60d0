/** Lists, one call that the user named, and the end. */
import { paramHeaders, paramHeaderValues } from '../../wire/mirror.ts';
import { listFault, lists, readList, type ServerList } from '../lists.ts';
import { HttpPeer } from '../peer/http.ts';
import { summary } from '../peer/reply.ts';
import { StdioPeer } from '../peer/stdio.ts';
import type { Talk } from '../talk.ts';
import { type DoctorStep, failed, ok, type StepOutcome, skipped } from '../visit.ts';

export const listStep: DoctorStep = {
  name: 'list',
  async run(visit) {
    if (visit.talks.length === 0) return skipped('no conversation could be opened');
    const found: string[] = [];
    for (const talk of visit.talks) {
      const counts: string[] = [];
      const kinds = lists.filter(({ capability }) => talk.capabilities[capability] !== undefined);
      for (const kind of kinds) {
        const outcome = await listed(talk, kind);
        if (typeof outcome !== 'string') return outcome;
        counts.push(outcome);
      }
      found.push(`${talk.era}: ${counts.join(', ') || 'nothing is declared'}`);
    }
    return ok(found.join('; '));
  },
};

async function listed(talk: Talk, kind: ServerList): Promise<StepOutcome | string> {
  const { entries, fault, bytes } = await readList(talk, kind);
  if (fault !== undefined) return failed(fault, bytes);
  const wrong = listFault(kind, entries);
  if (wrong !== undefined) return failed({ finding: 'list_malformed', detail: `${kind.method}: ${wrong}` }, bytes);
  return `${entries.length} ${kind.words}`;
}

export const callStep: DoctorStep = {
  name: 'call',
  async run(visit) {
    const { call } = visit.options;
    const talk = visit.talks[0];
    if (call === undefined) return skipped('no tool is named (--call)');
    if (talk === undefined) return skipped('no conversation could be opened');
    const headers = await toolHeaders(talk, call.tool, call.args);
    const reply = await talk.request('tools/call', { name: call.tool, arguments: call.args }, { headers });
    if (reply.fault !== undefined) return failed(reply.fault, reply.bytes);
    const result = reply.answer?.result;
    if (result === undefined) return failed({ finding: 'call_refused', detail: summary(reply) }, reply.bytes);
    if (talk.era === 'modern' && result.resultType === undefined)
      return failed({ finding: 'result_type_missing', detail: 'of `tools/call`' }, reply.bytes);
    if (result.resultType === 'input_required') return ok(`${call.tool} asks for input before it goes on`);
    return ok(`${call.tool}: ${result.isError === true ? 'the tool reports an error' : 'a result'}`);
  },
};

/** What the schema of the tool wants to see in headers, as every modern client sends it. */
async function toolHeaders(talk: Talk, name: string, args: object): Promise<Record<string, string>> {
  const tools = lists.find(({ method }) => method === 'tools/list');
  if (talk.era === 'legacy' || tools === undefined) return {};
  const { entries } = await readList(talk, tools);
  const spec = paramHeaders(entries.find((tool) => tool.name === name)?.inputSchema);
  return 'headers' in spec ? paramHeaderValues(spec.headers, args) : {};
}

export const endStep: DoctorStep = {
  name: 'end',
  async run(visit) {
    const noise = visit.talks.flatMap(({ peer }) => (peer instanceof StdioPeer ? peer.noise : []));
    for (const talk of visit.talks) {
      const outcome = await deleted(talk);
      if (outcome !== undefined) return outcome;
    }
    const problem = await visit.close();
    if (problem !== undefined) return failed({ finding: 'process_stays', detail: problem });
    const [first] = noise;
    if (first === undefined) return ok(visit.talks.length === 0 ? 'nothing was open' : 'all is closed');
    const detail = `${noise.length} lines, the first: ${visit.secrets.hide(first.slice(0, 200))}`;
    const received = visit.secrets.hide(noise.join('\n').slice(0, 2_000));
    return failed({ finding: 'stdout_noise', detail }, { sent: '(anything)', received });
  },
};

async function deleted(talk: Talk): Promise<StepOutcome | undefined> {
  const { peer, session, headers } = talk;
  if (session === undefined || !(peer instanceof HttpPeer)) return undefined;
  const reply = await peer.bare('DELETE', headers);
  const status = reply.http?.status ?? 0;
  if ((status >= 200 && status <= 299) || status === 405) return undefined;
  const isLost = status === 404 || status === 400;
  return failed({ finding: isLost ? 'session_lost' : 'session_end', detail: `DELETE: ${summary(reply)}` }, reply.bytes);
}
