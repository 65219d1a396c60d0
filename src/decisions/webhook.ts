/**
 * A validating webhook, in the form that receivers written for ToolHive read: a signed POST with the principal and the
 * message. An answer counts only if it repeats the id of its question.
 */
import { createHmac } from 'node:crypto';
import type { Principal } from '../identity/principal.ts';
import type { OutwardFetch } from '../oauth/fetch/fetch.ts';
import type { DescribePrincipal, PrincipalFacts } from './facts.ts';
import { DecisionFault, statusFault } from './fault.ts';
import { withMember } from './json.ts';
import { type DecisionProtocol, effectOf } from './protocol.ts';
import type { DecisionPointSettings } from './settings.ts';
import { post } from './transport.ts';
import { messageFor } from './webhook-message.ts';

const VERSION = 'v0.1.0';
/** Denies whatever the body says. */
const UNPROCESSABLE = 422;

interface WebhookServices {
  readonly fetch: OutwardFetch;
  readonly newId: () => string;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  readonly describe: DescribePrincipal;
}

export function webhook(
  settings: DecisionPointSettings,
  secret: string | undefined,
  { fetch, newId, timeOfDay, describe }: WebhookServices,
): DecisionProtocol {
  const { url } = settings.protocol;
  return {
    decide: async (request, signal) => {
      const uid = newId();
      const now = timeOfDay();
      const { endpoint, backend, principal, sender } = request;
      const facts = {
        version: VERSION,
        uid,
        timestamp: new Date(now).toISOString(),
        principal: principalFor(principal, describe(principal)),
        context: {
          server_name: backend === '' ? endpoint.path : backend,
          source_ip: sender?.address ?? '',
          transport: sender?.address === undefined ? 'stdio' : 'streamable-http',
        },
      };
      const body = withMember(facts, 'mcp_request', messageFor(request));
      const headers = { ...settings.headers, ...signature(secret, now, body) };
      const answer = await post(fetch, { url, body, headers, signal });
      if (answer.status === UNPROCESSABLE) return { decision: 'deny', id: uid };
      if (answer.status !== 200) throw statusFault(answer.status);
      const said = answer.json();
      if (said.uid !== uid) throw new DecisionFault('wrong_id');
      if (typeof said.allowed !== 'boolean') throw new DecisionFault('wrong_shape');
      // A patch would change a message that was judged already.
      if (said.patch !== undefined && said.patch !== null) throw new DecisionFault('wrong_shape');
      return { decision: effectOf(said.allowed, said.approval), id: uid };
    },
  };
}

/** The receiver compares the time with its own, so that a recorded question is worth nothing later. */
function signature(secret: string | undefined, now: number, body: string): Readonly<Record<string, string>> {
  if (secret === undefined) return {};
  const timestamp = String(Math.floor(now / 1_000));
  const signed = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return { 'X-ToolHive-Timestamp': timestamp, 'X-ToolHive-Signature': `sha256=${signed}` };
}

/** Keys and the local user have no subject: they are named as in rules. */
function principalFor(principal: Principal, { subject, clientId, key, kind, groups, claims }: PrincipalFacts): object {
  const text = (name: string) => {
    const value = principal.claims[name];
    return typeof value === 'string' ? { [name]: value } : {};
  };
  return {
    sub: subject ?? '',
    ...(kind !== 'token' && { platform_user_id: key === undefined ? kind : `key:${key}` }),
    ...(subject === undefined && clientId !== undefined && { platform_user_id: `client:${clientId}` }),
    ...text('name'),
    ...text('email'),
    ...(groups.length > 0 && { groups }),
    claims,
  };
}
