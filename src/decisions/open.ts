/** Makes the decision points that a config describes. */
import type { Clock } from '../exchange/clock.ts';
import { createOutwardFetch, type Outward } from '../oauth/fetch/fetch.ts';
import { hostOf } from '../oauth/fetch/targets.ts';
import type { DecisionPoints } from '../policy/outside.ts';
import type { PolicySettings } from '../policy/rules.ts';
import { authzen } from './authzen.ts';
import { type DescribePrincipal, principalFacts } from './facts.ts';
import { opa } from './opa.ts';
import { DecisionPoint } from './point.ts';
import { ConfiguredPoints, type OnFault } from './points.ts';
import type { DecisionProtocol } from './protocol.ts';
import type { DecisionPointSettings } from './settings.ts';
import { ANSWER_BYTES, QUESTION_BYTES } from './transport.ts';
import { webhook } from './webhook.ts';

export interface DecisionServices {
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  /** A UUID. */
  readonly newId: () => string;
  readonly onFault: OnFault;
}

export function openDecisionPoints(
  policy: Pick<PolicySettings, 'mode' | 'decisions' | 'groupsClaim'>,
  services: DecisionServices,
): DecisionPoints | undefined {
  const { decisions = [], mode } = policy;
  if (decisions.length === 0) return undefined;
  const opened = decisions.map((settings) => {
    const outward = outwardTo(settings);
    const protocol = protocolOf(settings, outward, policy.groupsClaim, services);
    return { outward, point: new DecisionPoint(settings, protocol, services.clock) };
  });
  return new ConfiguredPoints(
    opened.map(({ point }) => point),
    mode === 'audit',
    services.onFault,
    async () => void (await Promise.all(opened.map(({ outward }) => outward.close()))),
  );
}

/**
 * The operator has named these hosts, so they may be internal. Redirects are not followed: another host would get the
 * question, and give the answer.
 */
function outwardTo({ protocol, timeoutMs, concurrent }: DecisionPointSettings): Outward {
  const addresses = [protocol.url, ...(protocol.kind === 'opa' && protocol.lists ? [protocol.lists] : [])];
  return createOutwardFetch({
    allowLoopback: true,
    allow: [...new Set(addresses.map((address) => hostOf(new URL(address))))],
    limits: {
      ...{ connectMs: timeoutMs, headersMs: timeoutMs, totalMs: timeoutMs },
      ...{ bodyBytes: ANSWER_BYTES, sentBytes: QUESTION_BYTES },
      ...{ requests: concurrent, requestsPerHost: concurrent },
    },
  });
}

function protocolOf(
  settings: DecisionPointSettings,
  { fetch }: Outward,
  groupsClaim: string,
  { newId, timeOfDay }: DecisionServices,
): DecisionProtocol {
  const { protocol } = settings;
  const describe: DescribePrincipal = (principal) => principalFacts(principal, settings, groupsClaim);
  switch (protocol.kind) {
    case 'authzen':
      return authzen(settings, fetch, newId, describe);
    case 'opa':
      return opa(settings, protocol.lists, fetch, describe);
    case 'webhook':
      return webhook(settings, protocol.secret, { fetch, newId, timeOfDay, describe });
  }
}
