/** What stays open ends when the credentials that opened it do, within a named time; what runs may finish. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { type Headers, type Json, type OpenAnswer, open, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { bearer, type KeyRing, keyRing, type TokenIssuer, tokenIssuer } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { SseClient } from '../harness/sse-client.ts';

/** How often open streams are looked at; how often the key file is; how long an issuer's word is taken. */
const lookMs = 5_000;
const keyFileMs = 2_000;
const introspectedMs = 30_000;

interface Ending {
  readonly name: string;
  /** How it ends, and within which time after that. */
  prepare(of: { ring: KeyRing; issuer: TokenIssuer; clock: LeapClock; url: string }): Promise<Prepared>;
  readonly identity?: (issuer: TokenIssuer) => ConfigValue;
  readonly reason: string;
}

interface Prepared {
  readonly credentials: Headers;
  end(): void;
  readonly withinMs: number;
  /** A token may be for several addresses. */
}

const endings: readonly Ending[] = [
  {
    name: 'a key that is revoked',
    prepare: async ({ ring }) => ({
      credentials: bearer(ring.make('temp')),
      end: () => ring.revoke('temp'),
      withinMs: keyFileMs + lookMs,
    }),
    reason: 'key_expired',
  },
  {
    name: 'a key that expires',
    prepare: async ({ ring, clock }) => ({
      credentials: bearer(ring.make('temp', { expiresAt: clock.now() + 60_000 })),
      end: () => clock.leap(60_000),
      withinMs: lookMs,
    }),
    reason: 'key_expired',
  },
  {
    name: 'a token that expires',
    prepare: async ({ issuer, clock, url }) => {
      const addresses = ['/servers/old/mcp', '/servers/old/sse', '/servers/new/mcp', '/mcp'].map(
        (path) => `${url}${path}`,
      );
      const exp = Math.floor(clock.now() / 1000) + 60;
      return {
        credentials: bearer(await issuer.token(addresses, { exp })),
        // With the tolerance for clocks that disagree.
        end: () => clock.leap(60_000 + 30_000),
        withinMs: lookMs,
      };
    },
    reason: 'token_expired',
  },
  {
    name: 'a token that its issuer revokes',
    identity: (issuer) => ({
      issuers: [
        { issuer: issuer.url, introspection: { url: `${issuer.url}/introspect`, clientId: 'b', clientSecret: 's' } },
      ],
    }),
    prepare: async ({ issuer, url }) => {
      const aud = ['/servers/old/mcp', '/servers/old/sse', '/servers/new/mcp', '/mcp'].map((path) => `${url}${path}`);
      issuer.introspected = () => ({ active: true, sub: 'alice', aud, iss: issuer.url });
      return {
        credentials: bearer('opaque'),
        end: () => {
          issuer.introspected = () => ({ active: false });
        },
        withinMs: introspectedMs + 2 * lookMs,
      };
    },
    reason: 'token_expired',
  },
];

async function setting({ identity }: Ending) {
  const clock = new LeapClock();
  const ring = keyRing();
  ring.make('somebody');
  const issuer = await tokenIssuer();
  const calls: Turn[] = [];
  const script = { 'tools/call': (turn: Turn) => void calls.push(turn) };
  const backends = {
    old: { url: (await legacyBackend(script)).url },
    new: {
      url: (
        await modernBackend({
          ...script,
          'subscriptions/listen': (turn) => {
            const id = turn.message.id;
            const acknowledged = {
              notifications: turn.message.params.notifications,
              _meta: { 'io.modelcontextprotocol/subscriptionId': id },
            };
            turn
              .stream()
              .event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: acknowledged });
          },
        })
      ).url,
    },
  };
  const gateway = await startGateway(
    {
      backends,
      identity: { keys: { file: ring.path }, issuers: [{ issuer: issuer.url }], ...identity?.(issuer) },
      limits: {
        firstByteMs: 3_600_000,
        idleMs: 3_600_000,
        totalMs: 3_600_000,
        sseAfterMs: 0,
        initializeMs: 3_600_000,
        keepAliveMs: 600_000,
      },
    },
    { clock, timeOfDay: () => clock.now() },
  );
  return { clock, ring, issuer, gateway, calls };
}

/** Moves in small steps, so that what is asked of an issuer has the time to be answered. */
async function pass(clock: LeapClock, ms: number, isOver: () => boolean = () => false): Promise<void> {
  for (let passed = 0; passed < ms && !isOver(); passed += 1_000) {
    clock.leap(1_000);
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const listening = { toolsListChanged: true };
const acknowledged = ({ method }: Json): boolean => method === 'notifications/subscriptions/acknowledged';

describe.each(endings)('of $name', (ending) => {
  it('every stream ends in time, and no sooner', verifies('gateway:identity:token-expires'), async () => {
    const { clock, ring, issuer, gateway } = await setting(ending);
    const { credentials, end, withinMs } = await ending.prepare({ ring, issuer, clock, url: gateway.origin });
    // New keys are seen when the file is looked at.
    clock.leap(keyFileMs);
    const client = await connectLegacy(gateway.url('old'), {}, credentials);
    const listen = modern({
      method: 'subscriptions/listen',
      params: { notifications: listening },
      headers: credentials,
    });
    const streams: Record<string, OpenAnswer> = {
      standalone: await client.listen(),
      line: (await SseClient.connect(`${gateway.origin}/servers/old/sse`, {}, credentials)).stream,
      subscription: await open(gateway.url('new'), listen),
      merged: await open(gateway.url(), listen),
    };
    for (const name of ['subscription', 'merged']) await streams[name]?.message(acknowledged);
    const open_ = () => Object.keys(streams).filter((name) => streams[name]?.over === false);
    await pass(clock, 2 * lookMs);
    expect(open_()).toEqual(Object.keys(streams));
    end();
    await pass(clock, withinMs);
    await until(() => open_().length === 0, `all have ended, not: ${open_()}`);
    for (const name of ['subscription', 'merged']) {
      const last = streams[name]?.events.at(-1)?.json();
      expect({ code: last.error.code, reason: last.error.data.reason }, name).toEqual({
        code: 401,
        reason: ending.reason,
      });
    }
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(401);
  });

  it('a call that runs may finish', verifies('gateway:identity:token-expires'), async () => {
    const { clock, ring, issuer, gateway, calls } = await setting(ending);
    const { credentials, end, withinMs } = await ending.prepare({ ring, issuer, clock, url: gateway.origin });
    clock.leap(keyFileMs);
    const client = await connectLegacy(gateway.url('old'), {}, credentials);
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work' } };
    const legacy = await client.stream(call);
    const { method, params } = call;
    const stateless = await open(gateway.url('new'), modern({ id: 1, method, params, headers: credentials }));
    await until(() => calls.length === 2, 'both calls are there');
    end();
    await pass(clock, withinMs);
    for (const turn of calls) turn.result({ ...text('done'), resultType: 'complete' });
    for (const stream of [legacy, stateless]) {
      expect((await stream.message(({ id }) => id === 1)).result.content).toEqual(text('done').content);
    }
  });
});
