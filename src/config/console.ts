/** Reads and checks `console`: the pages for operators, who may use them, and what they record. */
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import type { World } from '../policy/match.ts';
import type { Who } from '../policy/rules.ts';
import type { ListenConfig } from './config.ts';
import type { ConfigDocument } from './document.ts';
import type { Variables } from './expand.ts';
import type { IdentityReading } from './identity.ts';
import { check } from './issues.ts';
import { portShape } from './listen.ts';
import { checkWho } from './policy.ts';
import { whoShape } from './policy-shapes.ts';
import * as shape from './shapes.ts';

export const consoleRights = ['view', 'revoke', 'approve', 'try'] as const;
export type ConsoleRight = (typeof consoleRights)[number];

/**
 * Who has each right. Absent: none has it. Where nothing is authenticated, the person at this machine has all of
 * them.
 */
export type ConsoleRights = Readonly<Partial<Record<ConsoleRight, Who>>>;

export interface ConsoleSettings {
  readonly record: ConsoleRecord;
  /** Whether people approve calls of others with a token of an issuer, too, instead of their password alone. */
  readonly approveByToken: boolean;
  /** An address of its own. Absent: at `/console` of the gateway's own address. */
  readonly listen?: { readonly host: string; readonly port: number };
}

const records = ['calls', 'bodies'] as const;
export type ConsoleRecord = (typeof records)[number];

const here = ['console'];

const consoleShape = shape.once(() => {
  const right = shape.closed('a map with `who`', { who: whoShape() }).exactOptional();
  return shape.closed('a map of settings', {
    who: whoShape().exactOptional(),
    revoke: right,
    approve: shape.closed('a map with `who`', { who: whoShape(), tokens: shape.flag.default(false) }).exactOptional(),
    try: right,
    record: shape.choice(records).default('calls'),
    listen: shape
      .closed('a map with `host` or `port`', {
        host: shape.listenHost.default('127.0.0.1'),
        port: portShape.default(8809),
      })
      .exactOptional(),
  });
});

export interface ConsoleReading {
  readonly settings: ConsoleSettings;
  readonly rights: ConsoleRights;
}

/** Undefined if absent, or invalid and reported. */
export function readConsole(document: ConfigDocument, variables: Variables, world: World): ConsoleReading | undefined {
  const value = document.read(here, variables);
  if (value === undefined) return undefined;
  const draft = check(document, here, value, consoleShape());
  if (draft === undefined) return undefined;
  const { who: view, revoke, approve, try: trying, record, listen } = draft;
  if (view !== undefined) checkWho(document, here, { who: view }, world);
  if (revoke !== undefined) checkWho(document, [...here, 'revoke'], revoke, world);
  if (approve !== undefined) checkWho(document, [...here, 'approve'], approve, world);
  if (trying !== undefined) checkWho(document, [...here, 'try'], trying, world);
  const rights = {
    ...(view && { view }),
    ...(revoke && { revoke: revoke.who }),
    ...(approve && { approve: approve.who }),
    ...(trying && { try: trying.who }),
  };
  const approveByToken = approve?.tokens ?? false;
  return { settings: { record, approveByToken, ...(listen && { listen }) }, rights };
}

/** With identity, a missing `who` is an error. Without it, only the person at this machine is. */
export function checkConsole(
  document: ConfigDocument,
  reading: ConsoleReading | undefined,
  { settings: identity, authServer }: IdentityReading,
  listen: Pick<ListenConfig, 'host'>,
): void {
  if (reading === undefined) return;
  const { rights } = reading;
  const { listen: own } = reading.settings;
  if (hasIdentity(identity, authServer !== undefined)) {
    if (rights.view === undefined)
      document.report(here, {
        message: 'the console does not say who may use it',
        expected: '`who`, as in the rules of a policy, such as `who: { groups: [operators] }`',
      });
    return;
  }
  const named = consoleRights.filter((right) => rights[right] !== undefined);
  for (const right of named)
    document.reportMeaningless(
      [...here, right === 'view' ? 'who' : right],
      'with `identity`: without it there is no sign-in',
    );
  const host = (own ?? listen).host;
  if (isLoopbackHost(host)) return;
  document.report(own === undefined ? here : [...here, 'listen', 'host'], {
    message: 'the console would be reached from the network, and there is no sign-in',
    expected: '`identity`, and `who` under `console`; or `listen` under `console`, with 127.0.0.1 as `host`',
  });
}

/** Whether callers can prove who they are. */
export function hasIdentity(
  { keyFile, issuers }: { readonly keyFile?: string; readonly issuers: readonly unknown[] },
  hasAuthServer: boolean,
): boolean {
  return keyFile !== undefined || issuers.length > 0 || hasAuthServer;
}
