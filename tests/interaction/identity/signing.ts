/**
 * Backends of both eras that sign everything that is meant for one client: a serial number that is never used twice,
 * and what the client said itself. A number that two principals have seen was passed on to the wrong one. Legacy ones
 * also sign with the session that was asked: nobody has one together with somebody else.
 */
import type { Json } from '../harness/client.ts';
import { legacyBackend, modernBackend, type Script, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';

export const serials = /(?:serial-\d+|lane-upstream-\d+)-/g;

const subscription = 'io.modelcontextprotocol/subscriptionId';

export class Signing {
  readonly legacy: ScriptedBackend;
  readonly modern: ScriptedBackend;

  private constructor(legacy: ScriptedBackend, modern: ScriptedBackend) {
    this.legacy = legacy;
    this.modern = modern;
  }

  static async start(): Promise<Signing> {
    let count = 0;
    const sign = () => `serial-${++count}-`;
    const held = new Map<string, Turn>();
    const said = ({ message }: Turn): string => JSON.stringify(message.params?.arguments ?? message.params ?? {});
    const lane = ({ received }: Turn) => `lane-${received.headers['mcp-session-id'] ?? ''}-`;
    const signed = (turn: Turn) => ({
      content: [{ type: 'text', text: `${sign()} ${lane(turn)} ${said(turn)}` }],
      resultType: 'complete',
    });
    const list = (turn: Turn) => {
      const names = ['echo', 'ask', 'slow', 'four', 'five'];
      const tools = names.map((name) => ({ name, description: sign(), inputSchema: { type: 'object' } }));
      turn.result({ tools, resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' });
    };
    const slow = (turn: Turn) => {
      const progressToken = turn.message.params._meta?.progressToken;
      turn.stream();
      if (progressToken !== undefined) {
        const params = { progressToken, progress: 1, message: `${sign()} ${said(turn)}` };
        turn.event({ jsonrpc: '2.0', method: 'notifications/progress', params });
      }
      // Long enough for others to come in between.
      setTimeout(() => turn.event({ jsonrpc: '2.0', id: turn.message.id, result: signed(turn) }).end(), 15);
    };
    const question = (turn: Turn) => ({
      message: `${sign()} ${said(turn)}`,
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    const read = (turn: Turn) =>
      turn.result({
        contents: [{ uri: turn.message.params.uri, text: sign() }],
        resultType: 'complete',
        ttlMs: 60_000,
        cacheScope: 'private',
      });
    const oldScript: Script = {
      'tools/list': list,
      'resources/read': read,
      'resources/subscribe': (turn) => turn.result({}),
      'tools/call': (turn) => {
        const { name } = turn.message.params;
        if (name === 'slow') slow(turn);
        else if (name === 'ask') {
          const id = `${turn.received.headers['mcp-session-id']}/${turn.message.id}`;
          held.set(id, turn);
          turn.stream().event({ jsonrpc: '2.0', id, method: 'elicitation/create', params: question(turn) });
        } else turn.result(signed(turn));
      },
      POST: (turn) => {
        turn.raw(202, {});
        const call = held.get(turn.message.id);
        held.delete(turn.message.id);
        const answer = JSON.stringify(turn.message.result ?? {});
        const content = [{ type: 'text', text: `${sign()} ${answer}` }];
        call?.event({ jsonrpc: '2.0', id: call.message.id, result: { content } }).end();
      },
    };
    const newScript: Script = {
      'tools/list': list,
      'resources/read': read,
      'tools/call': (turn) => {
        const { name, inputResponses } = turn.message.params;
        if (name === 'slow') slow(turn);
        else if (name === 'ask' && inputResponses === undefined) {
          const inputRequests = { q: { method: 'elicitation/create', params: question(turn) } };
          turn.result({ resultType: 'input_required', inputRequests, requestState: `${sign()} ${said(turn)}` });
        } else {
          const content = [{ type: 'text', text: `${sign()} ${said(turn)} ${JSON.stringify(inputResponses ?? {})}` }];
          turn.result({ content, resultType: 'complete' });
        }
      },
      'subscriptions/listen': (turn) => {
        const { id, params } = turn.message;
        const _meta = { [subscription]: id };
        const tell = (method: string, more: Json) => turn.event({ jsonrpc: '2.0', method, params: { ...more, _meta } });
        turn.stream();
        tell('notifications/subscriptions/acknowledged', { notifications: params.notifications });
        for (const uri of params.notifications.resourceSubscriptions ?? [])
          tell('notifications/resources/updated', { uri });
      },
    };
    return new Signing(await legacyBackend(oldScript), await modernBackend(newScript));
  }
}
