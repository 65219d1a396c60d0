/**
 * Open Policy Agent, by its REST API: the value of one rule for an input. A rule that is undefined for the input, or
 * has any value but `true`, `{"allow": true}` and `{"approval": true}`, denies.
 * https://www.openpolicyagent.org/docs/rest-api#get-a-document-with-input
 */
import type { OutwardFetch } from '../oauth/fetch/fetch.ts';
import { useOf } from '../policy/actions.ts';
import { isObject } from '../wire/values.ts';
import type { DescribePrincipal } from './facts.ts';
import { DecisionFault, statusFault } from './fault.ts';
import { withMember } from './json.ts';
import { type DecisionProtocol, effectOf } from './protocol.ts';
import type { DecisionPointSettings } from './settings.ts';
import { shownArguments } from './shown-arguments.ts';
import { post } from './transport.ts';

export function opa(
  settings: DecisionPointSettings,
  lists: string | undefined,
  fetch: OutwardFetch,
  describe: DescribePrincipal,
): DecisionProtocol {
  const { headers, protocol } = settings;
  /** `input` is JSON text. */
  const ask = async (url: string, input: string, signal: AbortSignal) => {
    const answer = await post(fetch, { url, body: withMember({}, 'input', input), headers, signal });
    if (answer.status !== 200) throw statusFault(answer.status);
    const { result, decision_id: id } = answer.json();
    return { result, id: typeof id === 'string' ? id : undefined };
  };
  return {
    decide: async (request, signal) => {
      const { row, endpoint, backend, thing } = request;
      const facts = {
        principal: describe(request.principal),
        ...{ action: row.action, method: row.method, endpoint: endpoint.path, backend },
        ...{ kind: thing?.kind ?? '', name: thing?.name ?? '' },
      };
      const input = withMember(facts, 'arguments', settings.arguments ? shownArguments(request) : undefined);
      const { result, id } = await ask(protocol.url, input, signal);
      const said = isObject(result) ? result : { allow: result };
      return { decision: effectOf(said.allow === true, said.approval), id };
    },
    ...(lists !== undefined && {
      show: async ({ principal, endpoint, kind, entries }, signal) => {
        const names = entries.map(({ name }) => name);
        const input = {
          principal: describe(principal),
          ...{ action: useOf[kind], endpoint: endpoint.path, kind, names, entries },
        };
        const { result = [], id } = await ask(lists, JSON.stringify(input), signal);
        if (!Array.isArray(result)) throw new DecisionFault('wrong_shape');
        const shown = new Set<unknown>(result);
        return { decision: names.map((name) => shown.has(name)), id };
      },
    }),
  };
}
