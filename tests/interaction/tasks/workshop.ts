/**
 * A modern server with tasks, for the scenarios of the official kit and for our own tests. It keeps its tasks in memory
 * and decides from the name of the tool what becomes one.
 */
import { randomUUID } from 'node:crypto';
import type { Json } from '../harness/client.ts';
import { modernBackend, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';

export const tasksId = 'io.modelcontextprotocol/tasks';
export const related = 'io.modelcontextprotocol/related-task';
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

interface Job {
  readonly id: string;
  readonly name: string;
  readonly args: Json;
  readonly createdAt: string;
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  result?: object;
  error?: object;
  inputRequests: Record<string, object>;
  readonly answers: Record<string, Json>;
}

interface Ear {
  readonly turn: Turn;
  readonly ids: readonly string[];
}

export interface WorkshopOptions {
  readonly pollIntervalMs?: number;
  readonly ttlMs?: number | null;
  readonly capabilities?: object;
  /** Ids of tasks, instead of random ones. */
  readonly newId?: () => string;
}

const object = { type: 'object' };
const elicitation = (message: string, property: string, type = 'boolean') => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { ...object, properties: { [property]: { type } } } },
});
const text = (value: string, more: object = {}) => ({ content: [{ type: 'text', text: value }], ...more });

/** Tools that run only as tasks, and those that do without where the client has none. */
const required = new Set(['failing_job', 'protocol_error_job', 'confirm_delete', 'multi_input', 'linked', 'held']);
const tools = ['greet', 'slow_compute', 'test_tool_with_task', 'sampled', ...required];

export class Workshop {
  readonly name: string;
  readonly jobs = new Map<string, Job>();
  readonly #options: WorkshopOptions;
  readonly #ears = new Set<Ear>();
  /** Makes a task of every call, whatever the client declares. */
  isRude = false;
  /** Names the task in every answer about it, as the design before this one demands. */
  isTalkative = false;
  backend!: ScriptedBackend;

  constructor(name: string, options: WorkshopOptions) {
    this.name = name;
    this.#options = options;
  }

  async open(): Promise<this> {
    this.backend = await modernBackend(
      {
        'tools/list': (turn) =>
          turn.result({
            ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
            tools: tools.map((name) => ({ name, inputSchema: object })),
          }),
        'tools/call': (turn) => this.#checked(turn, 'name', false, (params) => this.#call(turn, params)),
        'tasks/get': (turn) =>
          this.#ofJob(turn, (job) => turn.result({ resultType: 'complete', ...this.shown(job), ...this.#meta(job) })),
        'tasks/update': (turn) =>
          this.#ofJob(turn, (job) => {
            this.#answered(job, turn.message.params.inputResponses ?? {});
            this.#acknowledge(turn, job);
          }),
        'tasks/cancel': (turn) =>
          this.#ofJob(turn, (job) => {
            if (job.status === 'working' || job.status === 'input_required') this.#end(job, { status: 'cancelled' });
            this.#acknowledge(turn, job);
          }),
        'subscriptions/listen': (turn) => this.#listen(turn),
      },
      { capabilities: this.#options.capabilities ?? { tools: {}, extensions: { [tasksId]: {} } } },
    );
    return this;
  }

  /** What `tasks/get` says. */
  shown({ id, status, createdAt, result, error, inputRequests }: Job): object {
    const { ttlMs = 60_000, pollIntervalMs = 100 } = this.#options;
    return {
      ...{ taskId: id, status, statusMessage: `${status} here`, createdAt, lastUpdatedAt: createdAt },
      ...{ ttlMs, pollIntervalMs },
      ...(status === 'completed' && { result }),
      ...(status === 'failed' && { error }),
      ...(status === 'input_required' && { inputRequests }),
    };
  }

  /** The task that the tool made last. */
  last(name: string): Job {
    const job = [...this.jobs.values()].filter((one) => one.name === name).at(-1);
    if (job === undefined) throw new Error(`${name} made no task`);
    return job;
  }

  finish(job: Job, result: object = text(`done: ${job.name}`)): void {
    this.#end(job, { status: 'completed', result });
  }

  ask(job: Job, key: string, request: object): void {
    job.inputRequests[key] = request;
    job.status = 'input_required';
    this.#tell(job);
  }

  #meta({ id }: Job): object {
    return this.isTalkative ? { _meta: { [related]: { taskId: id }, kept: 1 } } : {};
  }

  #acknowledge(turn: Turn, job: Job): void {
    turn.result({ resultType: 'complete', ...(this.isTalkative && this.shown(job)), ...this.#meta(job) });
  }

  #checked(turn: Turn, name: string, needs: boolean, serve: (params: Json) => void): void {
    const { params, method } = turn.message;
    const { headers } = turn.received;
    if (headers['mcp-method'] !== method || headers['mcp-name'] !== params[name])
      turn.error(-32020, 'Header mismatch', undefined, 400);
    else if (needs && !declares(params)) refuse(turn);
    else serve(params);
  }

  #ofJob(turn: Turn, serve: (job: Job) => void): void {
    this.#checked(turn, 'taskId', true, ({ taskId }) => {
      const job = this.jobs.get(taskId);
      if (job === undefined) turn.error(-32602, `Unknown task: ${taskId}`);
      else serve(job);
    });
  }

  #call(turn: Turn, params: Json): void {
    const { name, arguments: args = {}, inputResponses } = params;
    const done = (result: object) => turn.result({ resultType: 'complete', ...result });
    if (this.isRude) this.#start(turn, name, args);
    else if (name === 'greet') done(text(`Hello, ${args.name}!`));
    else if (name === 'test_tool_with_task' && inputResponses === undefined)
      turn.result({
        resultType: 'input_required',
        inputRequests: { user_name: elicitation('Who are you?', 'name', 'string') },
        requestState: 'asked',
      });
    else if (declares(params)) this.#start(turn, name, { ...args, inputResponses });
    else if (required.has(name)) refuse(turn);
    else if (name === 'slow_compute') setTimeout(() => done(text(`computed ${args.label}`)), 1000 * args.seconds);
    else done(text(`${name} of ${this.name}`));
  }

  #start(turn: Turn, name: string, args: Json): void {
    const { newId = randomUUID } = this.#options;
    const createdAt = new Date().toISOString();
    const job: Job = { id: newId(), name, args, createdAt, status: 'working', inputRequests: {}, answers: {} };
    this.jobs.set(job.id, job);
    turn.result({ resultType: 'task', ...this.shown(job), ...this.#meta(job) });
    this.#work(job);
  }

  #work(job: Job): void {
    const { name, args } = job;
    const later = (ms: number, end: Partial<Job>) => setTimeout(() => this.#end(job, end), ms).unref();
    switch (name) {
      case 'slow_compute':
        later(1000 * args.seconds, { status: 'completed', result: text(`computed ${args.label}`) });
        break;
      case 'failing_job':
        later(300, { status: 'completed', result: text('the job failed', { isError: true }) });
        break;
      case 'protocol_error_job':
        later(300, { status: 'failed', error: { code: -32603, message: 'the job broke' } });
        break;
      case 'confirm_delete':
        this.ask(job, 'confirm', elicitation(`Delete ${args.filename}?`, 'confirm'));
        break;
      case 'multi_input':
        this.ask(job, 'first', elicitation('The first?', 'value', 'string'));
        this.ask(job, 'second', elicitation('The second?', 'value', 'string'));
        break;
      case 'sampled': {
        const content = { type: 'text', text: 'say' };
        const params = { messages: [{ role: 'user', content }], maxTokens: 5 };
        this.ask(job, 'sample', { method: 'sampling/createMessage', params });
        break;
      }
      case 'test_tool_with_task':
        later(50, { status: 'completed', result: text(`Hello, ${args.inputResponses.user_name.content?.name}!`) });
        break;
      case 'linked':
        this.finish(job, {
          content: [{ type: 'resource_link', uri: 'ui://page', name: 'page' }],
          _meta: { ui: { resourceUri: 'ui://page' } },
        });
    }
  }

  #answered(job: Job, responses: Json): void {
    for (const [key, answer] of Object.entries(responses)) {
      if (!Object.hasOwn(job.inputRequests, key)) continue;
      job.answers[key] = answer;
      delete job.inputRequests[key];
    }
    if (job.status !== 'input_required' || Object.keys(job.inputRequests).length > 0) return;
    job.status = 'working';
    this.finish(job, text(`answered: ${JSON.stringify(job.answers)}`));
  }

  #end(job: Job, end: Partial<Job>): void {
    if (job.status !== 'working' && job.status !== 'input_required') return;
    Object.assign(job, end);
    this.#tell(job);
  }

  #listen(turn: Turn): void {
    const { taskIds } = turn.message.params.notifications;
    if (taskIds !== undefined && !declares(turn.message.params)) {
      refuse(turn);
      return;
    }
    const ids = (taskIds ?? []).filter((id: string) => this.jobs.has(id));
    const ear = { turn: turn.stream(), ids };
    const params = { notifications: ids.length === 0 ? {} : { taskIds: ids }, ...tag(turn) };
    turn.event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
    this.#ears.add(ear);
    void turn.closed.then(() => this.#ears.delete(ear));
  }

  #tell(job: Job): void {
    for (const { turn, ids } of this.#ears) {
      const params = { ...this.shown(job), ...tag(turn) };
      if (ids.includes(job.id)) turn.event({ jsonrpc: '2.0', method: 'notifications/tasks', params });
    }
  }
}

function tag(turn: Turn): object {
  return { _meta: { [subscriptionKey]: turn.message.id } };
}

function declares(params: Json): boolean {
  return params._meta?.[capabilitiesKey]?.extensions?.[tasksId] !== undefined;
}

function refuse(turn: Turn): void {
  const requiredCapabilities = { extensions: { [tasksId]: {} } };
  turn.error(-32021, 'Missing required client capability', { requiredCapabilities }, 400);
}

/** Closed when the test is over. */
export function openWorkshop(name: string, options: WorkshopOptions = {}): Promise<Workshop> {
  return new Workshop(name, options).open();
}
