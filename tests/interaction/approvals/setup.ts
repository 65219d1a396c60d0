/** Policies that ask a person, and a gateway with people who can be asked. */
import type { Audit, AuditRecord } from '../../../src/observe/audit.ts';
import type { Browser } from '../authserver/browser.ts';
import { password, Setting } from '../authserver/setting.ts';
import type { Json } from '../harness/client.ts';
import { send } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import type { ConfigValue, Ports } from '../harness/gateway.ts';
import { modernBackend, type Script, type ScriptedBackend } from '../harness/http-backend.ts';

/** Everything is allowed, and deletions are asked about. */
export function asking(terms: object): ConfigValue {
  const what = ['call', 'get', 'read', 'rpc'];
  return {
    rules: [
      { id: 'all', effect: 'allow' },
      { id: 'ask', effect: 'approval', what, on: { tools: ['*delete*'], methods: ['*delete*'] }, ...terms },
    ],
  };
}

/** The steps of approvals, in the order of the trail. */
export function steps(records: readonly AuditRecord[]): readonly string[] {
  return records.flatMap(({ approval }) =>
    approval === undefined ? [] : [[approval.step, approval.answer].filter(Boolean).join(' ')],
  );
}

const script: Script = {
  'tools/list': (turn) => {
    const tools = ['delete', 'read'].map((name) => ({ name, inputSchema: { type: 'object' } }));
    turn.result({ tools, resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' });
  },
  'tools/call': (turn) => turn.result({ content: [{ type: 'text', text: 'deleted' }], resultType: 'complete' }),
};

export interface OfficePlan {
  readonly terms?: object;
  readonly more?: ConfigValue;
  readonly console?: ConfigValue;
  readonly limits?: ConfigValue;
  readonly script?: Script;
  readonly ports?: Ports;
  readonly policy?: ConfigValue;
}

/** An agent with a key, and people with passwords: bob and carl may approve; ada may only sign in. */
export class Office {
  readonly setting: Setting;
  readonly backend: ScriptedBackend;
  readonly records: AuditRecord[];
  readonly key: string;
  /** Of another program, which the config lets approve. */
  readonly helper: string;

  private constructor(setting: Setting, backend: ScriptedBackend, records: AuditRecord[], key: string, helper: string) {
    this.setting = setting;
    this.backend = backend;
    this.records = records;
    this.key = key;
    this.helper = helper;
  }

  static async open(plan: OfficePlan = {}): Promise<Office> {
    const backend = await modernBackend({ ...script, ...plan.script });
    const ring = keyRing();
    const [key, helper] = [ring.make('agent'), ring.make('helper')];
    const records: AuditRecord[] = [];
    const audit: Audit = { write: (record) => void records.push(record), close: async () => undefined };
    const who = { principals: ['bob', 'carl', 'key:agent', 'key:helper'] };
    const setting = await Setting.launch({
      users: ['ada', 'bob', 'carl'],
      identity: { keys: { file: ring.path } },
      more: {
        backends: { b: { url: backend.url } },
        policy: plan.policy ?? asking({ by: 'other', ...plan.terms }),
        console: { who: { principals: ['nobody'] }, approve: { who }, ...plan.console },
        limits: { approvalWaitMs: 0, ...plan.limits },
        ...plan.more,
      },
      ports: { audit, ...plan.ports },
    });
    return new Office(setting, backend, records, key, helper);
  }

  /** The agent's call, as a modern client without elicitation. */
  async call(
    args: object = { path: '/a' },
    more: object = {},
    capabilities: object = {},
    meta: object = {},
  ): Promise<Json> {
    const call = modern({
      method: 'tools/call',
      params: { name: 'delete', arguments: args, ...more },
      capabilities,
      meta,
    });
    const headers = { ...call.headers, authorization: `Bearer ${this.key}` };
    const answer = await send(`${this.setting.origin}/mcp`, { ...call, headers });
    // A call that waits is answered on a stream.
    return answer.events.at(-1)?.json() ?? answer.json();
  }

  async signIn(name: string): Promise<Approver> {
    const browser = this.setting.browser();
    const login = await browser.go(`${this.setting.origin}/oauth/sign-in?return=%2Fconsole`);
    await browser.submit(login, { action: 'sign-in', name, password });
    return new Approver(this.setting.origin, browser);
  }
}

/** A person at the page of approvals. */
export class Approver {
  readonly #origin: string;
  readonly #browser: Browser;

  constructor(origin: string, browser: Browser) {
    this.#origin = origin;
    this.#browser = browser;
  }

  async questions(): Promise<readonly Json[]> {
    return JSON.parse((await this.#browser.go(`${this.#origin}/console/api/approvals`)).text).approvals;
  }

  async answer(question: Json, answer: 'approve' | 'deny', more: object = {}): Promise<{ status: number; body: Json }> {
    const { id, preview } = question;
    const answered = await this.#browser.go(`${this.#origin}/console/api/approvals/answer`, {
      method: 'POST',
      headers: { origin: this.#origin, 'content-type': 'application/json' },
      body: JSON.stringify({ id, answer, preview: preview.hash, ...more }),
    });
    return { status: answered.status, body: JSON.parse(answered.text) };
  }

  /** Answers the only question that is open. */
  async answerOnly(answer: 'approve' | 'deny'): Promise<void> {
    const [question, ...others] = await this.questions();
    if (question === undefined || others.length > 0) throw new Error(`${others.length + 1} questions are open`);
    const { status, body } = await this.answer(question, answer);
    if (status !== 200) throw new Error(JSON.stringify(body));
  }
}
