/** A decision point on a real socket, and a gateway whose policy asks it. */
import { onTestFinished } from 'vitest';
import type { Json } from '../harness/client.ts';
import type { ConfigValue } from '../harness/gateway.ts';
import { json, launchService, type Serve, type Service, type Visit } from '../json-rpc/setup.ts';
import { type House, openHouse, type Plan } from '../policy/setup.ts';

export type Kind = 'authzen' | 'opa' | 'webhook';
export const kinds: readonly Kind[] = ['authzen', 'opa', 'webhook'];

export async function decisionPoint(serve: Serve): Promise<Service> {
  const service = await launchService(serve);
  onTestFinished(() => service.close());
  return service;
}

export function asked({ text }: Visit): Json {
  return JSON.parse(text);
}

/** The valid answer of each protocol to this question. */
export function answerOf(kind: Kind, visit: Visit, isAllowed: boolean): object {
  if (kind === 'authzen') return { decision: isAllowed };
  if (kind === 'opa') return { result: isAllowed, decision_id: 'opa-decision-1' };
  return { version: 'v0.1.0', uid: asked(visit).uid, allowed: isAllowed };
}

/** Decides by the name in the question, whatever the protocol. */
export function deciding(kind: Kind, isAllowed: (name: string) => boolean): Serve {
  return (visit) => {
    const { evaluations } = asked(visit);
    if (evaluations === undefined) json(visit.response, answerOf(kind, visit, isAllowed(nameIn(kind, visit))));
    else
      json(visit.response, {
        evaluations: evaluations.map(({ resource }: Json) => ({ decision: isAllowed(resource.id) })),
      });
  };
}

export function nameIn(kind: Kind, visit: Visit): string {
  const question = asked(visit);
  if (kind === 'authzen') return question.resource.id;
  if (kind === 'opa') return question.input.name;
  return question.mcp_request.params.name;
}

export function pointConfig(kind: Kind, { url }: Service, more: ConfigValue = {}): ConfigValue {
  return { name: 'pdp', [kind]: url, ...more };
}

export interface DecidedHouse extends House {
  readonly point: Service;
}

export async function openDecided(
  kind: Kind,
  serve: Serve,
  { point: own, policy, ...plan }: Plan & { readonly point?: ConfigValue; readonly policy?: ConfigValue } = {},
): Promise<DecidedHouse> {
  const point = await decisionPoint(serve);
  const more = { policy: { decisions: [pointConfig(kind, point, own)], ...policy }, ...plan.more };
  return Object.assign(await openHouse({ ...plan, more }), { point });
}
