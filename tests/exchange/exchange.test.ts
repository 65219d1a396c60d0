/** Properties of one exchange, under any order of what can happen to it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { Call } from '../../src/exchange/call.ts';
import { Exchange } from '../../src/exchange/exchange.ts';
import type { Outlet, Settlement } from '../../src/exchange/outlet.ts';
import type { Notification, Request, Response, ResultResponse } from '../../src/wire/message.ts';
import { type MethodRow, methodRow } from '../../src/wire/methods.ts';
import { readMessage } from '../../src/wire/scan.ts';
import { skimMessage } from '../../src/wire/skim.ts';
import { verifies } from '../requirements/verifies.ts';
import { holds } from '../wire/property.ts';

const bytes = (message: object) => Buffer.from(JSON.stringify(message));
const request = readMessage(
  bytes({ jsonrpc: '2.0', id: 0, method: 'tools/call', params: { name: 't', _meta: { progressToken: 0 } } }),
  { depth: 16 },
) as Request;
const row = methodRow('tools/call') as MethodRow;
const result = skimMessage(bytes({ jsonrpc: '2.0', id: 9, result: { content: [] } })) as ResultResponse;
const refusal = skimMessage(bytes({ jsonrpc: '2.0', id: 9, error: { code: 1, message: 'no' } })) as Response;
const progress = skimMessage(
  bytes({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 9, progress: 1 } }),
) as Notification;

/** Everything that a backend, a client or the gateway itself does to an exchange. */
const settling: Readonly<Record<string, (exchange: Exchange) => void>> = {
  respond: (exchange) => exchange.respond(result),
  refuse: (exchange) => exchange.respond(refusal, 404),
  answer: (exchange) => exchange.respondResult('{}'),
  fail: (exchange) => exchange.fail(new Failure('backend_timeout')),
  cancel: (exchange) => exchange.cancel('why'),
  abort: (exchange) => exchange.abort(new Failure('session_ended')),
  end: (exchange) => exchange.endSubscription(false),
};
const speaking: typeof settling = {
  send: (exchange) => exchange.send(new Uint8Array(1), 'keep'),
  progress: (exchange) => exchange.sendProgress(progress),
  subscribed: (exchange) => exchange.sendSubscribed(progress),
  pause: (exchange) => exchange.pause(1),
};
const silencing = new Set(['cancel', 'abort', 'end']);
const deeds = { ...settling, ...speaking };

describe('an exchange', verifies('gateway:exchange:one-settle'), () => {
  it('settles exactly once, sends nothing afterwards, and cancels its call at most once', () => {
    holds(
      fc.property(
        fc.array(fc.constantFrom(...Object.keys(deeds)), { maxLength: 12 }),
        fc.nat(12),
        (names, callComes) => {
          const told: string[] = [];
          const settlements: Settlement[] = [];
          let cancellations = 0;
          let settledCalls = 0;
          const outlet: Outlet = {
            send: () => void told.push('said'),
            pause: () => void told.push('said'),
            settle: (settlement) => {
              told.push('settled');
              settlements.push(settlement);
            },
            onAbandoned: () => undefined,
            carries: true,
          };
          const call: Call = {
            cancel: () => {
              cancellations += 1;
            },
          };
          const exchange = new Exchange(request, row, outlet, () => {
            settledCalls += 1;
          });
          for (const [index, name] of names.entries()) {
            if (index === callComes) exchange.drivenBy(call);
            deeds[name]?.(exchange);
          }
          const first = names.findIndex((name) => name in settling);
          const expected = first === -1 ? 0 : 1;
          expect(settlements).toHaveLength(expected);
          expect(settledCalls).toBe(expected);
          expect(exchange.settled).toBe(expected === 1);
          expect(told.indexOf('settled')).toBe(expected === 1 ? told.length - 1 : -1);
          const running = callComes <= first && callComes < names.length;
          expect(cancellations).toBe(running && silencing.has(names[first] ?? '') ? 1 : 0);
        },
      ),
    );
  });
});
