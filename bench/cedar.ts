/**
 * `npm run bench:cedar`: what Cedar policies cost. A call is one evaluation; a list is one for each entry, until it is
 * kept. Each row is the best of several rounds, in CPU time of this process.
 */
import { CedarJudge } from '../src/decisions/cedar/judge.ts';
import { loadCedar } from '../src/decisions/cedar/module.ts';
import type { CedarSettings } from '../src/decisions/cedar/settings.ts';
import { type Principal, tokenPrincipal } from '../src/identity/principal.ts';
import { Policy } from '../src/policy/policy.ts';
import { methodRow } from '../src/wire/methods.ts';

const ROUNDS = 7;
const CALLS = 500;
const ENTRIES = 500;
const world = { endpoints: ['/mcp'], backends: ['files'] };
const row = methodRow('tools/call')!;
const claims = { sub: 'ann', name: 'Ann', email: 'ann@example.com', groups: ['staff', 'blue'], roles: ['analyst'] };
const given = { path: '/srv/a', mode: 'read', count: 3, force: false };

function person(): Principal {
  const principal = tokenPrincipal({ issuer: 'https://login.example', claims });
  if (principal === undefined) throw new Error('a token without a subject');
  return principal;
}

function policyWith(count: number): Policy {
  const forbid = 'forbid(principal, action, resource) when { context has arg_force && context.arg_force };';
  const permit = (at: number) =>
    `permit(principal in THVGroup::"g${at}", action == Action::"call_tool", resource == Tool::"tool_${at}");`;
  const reads =
    'permit(principal, action == Action::"call_tool", resource) when { principal.claim_roles.contains("analyst") };';
  const texts = [forbid, reads, ...Array.from({ length: count - 2 }, (_, at) => permit(at))];
  const cedar: CedarSettings = {
    policies: texts.map((text, at) => ({ id: `p${at}`, text })),
    entities: [],
    groupType: 'THVGroup',
    setClaims: [],
  };
  const settings = {
    mode: 'enforce',
    open: ['call', 'list'],
    trustAnnotationsOf: [],
    groupsClaim: 'groups',
    rules: [],
    cedar,
  } as const;
  return new Policy(settings, world, 1, new CedarJudge(cedar, loadCedar()));
}

/** In microseconds of CPU time. */
function best(work: () => void): number {
  const once = () => {
    const started = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(started);
    return user + system;
  };
  return Math.min(...Array.from({ length: ROUNDS }, once));
}

function callCost(policy: Policy): number {
  const principal = person();
  const thing = { kind: 'tool', name: 'tool_x' } as const;
  const question = { principal, endpoint: '/mcp', backend: 'files', row, thing, arguments: () => given };
  return (
    best(() => {
      for (let at = 0; at < CALLS; at += 1) policy.decide(question);
    }) / CALLS
  );
}

function listCost(policy: Policy): { readonly cold: number; readonly warm: number } {
  const list = (principal: Principal) => {
    for (let at = 0; at < ENTRIES; at += 1)
      policy.shows({ principal, endpoint: '/mcp', backend: 'files', thing: { kind: 'tool', name: `tool_${at}` } });
  };
  const known = person();
  list(known);
  return { cold: best(() => list(person())), warm: best(() => list(known)) };
}

console.log(`policies   us a call   ms for ${ENTRIES} tools, first   again`);
for (const count of [2, 11, 101, 1_000]) {
  const policy = policyWith(count);
  const { cold, warm } = listCost(policy);
  const columns = [String(count).padEnd(8), callCost(policy).toFixed(0).padStart(12)];
  console.log([...columns, (cold / 1_000).toFixed(1).padStart(24), (warm / 1_000).toFixed(2).padStart(7)].join(' '));
}
