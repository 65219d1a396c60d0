/**
 * Open Policy Agent, by its REST API: the value of one rule for an input. A rule that is undefined for the input, or
 * has any value but `true` and `{"allow": true}`, denies.
 * https://www.openpolicyagent.org/docs/rest-api#get-a-document-with-input
 */
import type { Principal } from '../identity/principal.ts';
import type { OutwardFetch } from '../oauth/fetch/fetch.ts';
import { useOf } from '../policy/actions.ts';
import { isObject } from '../wire/values.ts';
import { argumentsFor, claimsFor } from './facts.ts';
import { DecisionFault } from './fault.ts';
import type { DecisionProtocol } from './protocol.ts';
import type { DecisionPointSettings } from './settings.ts';
import { post } from './transport.ts';

export function opa(settings: DecisionPointSettings, lists: string | undefined, fetch: OutwardFetch): DecisionProtocol {
  const { headers, protocol } = settings;
  const ask = async (url: string, input: object, signal: AbortSignal) => {
    const answer = await post(fetch, { url, body: JSON.stringify({ input }), headers, signal });
    if (answer.status !== 200) throw new DecisionFault('wrong_status');
    const { result, decision_id: id } = answer.json();
    return { result, id: typeof id === 'string' ? id : undefined };
  };
  return {
    decide: async (request, signal) => {
      const { row, endpoint, backend, thing } = request;
      const given = argumentsFor(request, settings);
      const input = {
        principal: principalFor(request.principal, settings),
        ...{ action: row.action, method: row.method, endpoint: endpoint.path, backend },
        ...{ kind: thing?.kind ?? '', name: thing?.name ?? '' },
        ...(given !== undefined && { arguments: given }),
      };
      const { result, id } = await ask(protocol.url, input, signal);
      const isAllowed = result === true || (isObject(result) && result.allow === true);
      return { decision: isAllowed ? 'allow' : 'deny', id };
    },
    ...(lists !== undefined && {
      show: async ({ principal, endpoint, backend, kind, names }, signal) => {
        const input = {
          principal: principalFor(principal, settings),
          ...{ action: useOf[kind], endpoint: endpoint.path, backend, kind, names },
        };
        const { result = [], id } = await ask(lists, input, signal);
        if (!Array.isArray(result)) throw new DecisionFault('wrong_shape');
        const shown = new Set<unknown>(result);
        return { decision: names.map((name) => shown.has(name)), id };
      },
    }),
  };
}

/** The same members as `principal` in a `when`. */
function principalFor(principal: Principal, settings: DecisionPointSettings): object {
  const { kind, issuer, subject, clientId, keyName, scopes } = principal;
  return {
    kind,
    ...(issuer !== undefined && { issuer }),
    ...(subject !== undefined && { subject }),
    ...(clientId !== undefined && { clientId }),
    ...(keyName !== undefined && { key: keyName }),
    ...(scopes !== 'all' && { scopes: [...scopes] }),
    claims: claimsFor(principal, settings),
  };
}
