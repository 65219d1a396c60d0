/** A reload is applied by all workers or by none. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { call } from '../policy/setup.ts';
import { linesWith, logged, replaced, type ServedByWorkers, started, untilAll, WORKERS, workersOf } from './started.ts';

/** `configOf(tool)`: a policy that allows this tool alone. */
async function scene(more: object = { watch: false }) {
  const backend = await modernBackend({
    'tools/call': (turn) => turn.result({ resultType: 'complete', ...text(turn.message.params.name) }),
  });
  const configOf = (tool: string) => ({
    backends: { b: { url: backend.url } },
    policy: { rules: [{ id: 'only', effect: 'allow', what: ['call'], on: { tools: [tool] } }] },
    ...more,
  });
  const served = await started(configOf('one'), ['--log-level', 'debug']);
  return { configOf, served };
}

/** Each worker has this generation, and allows this tool alone. */
async function expectAll(served: ServedByWorkers, generation: number, tool: 'one' | 'two'): Promise<void> {
  await untilAll(served, (body) => body.status === 'ready' && body.generation === generation);
  for (const name of ['one', 'two'])
    for (let n = 0; n < WORKERS; n++) {
      const { result, error } = (await send(served.url('b'), modern(call(name)))).json();
      expect(result === undefined ? error.data.reason : 'allowed').toBe(name === tool ? 'allowed' : 'policy_denied');
    }
}

/** It takes no questions while the reload goes on. */
function stop(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  onTestFinished(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  });
}

const PREPARING = 'the workers prepare the new config';
const REFUSED = 'config not reloaded, the old one stays in force';

describe('a reload with workers', verifies('gateway:workers:reload'), () => {
  it('on SIGHUP is applied by all, with one line in the log', async () => {
    const { configOf, served } = await scene();
    served.write(configOf('two'));
    served.program.kill('SIGHUP');
    await logged(served.program, 'config reloaded, generation 2: policy changed');
    await expectAll(served, 2, 'two');
    expect(linesWith(served.program, 'config reloaded')).toHaveLength(1);
  });

  it('is applied when the file changes', async () => {
    const { configOf, served } = await scene({});
    served.write(configOf('two'));
    await logged(served.program, 'config reloaded, generation 2: policy changed');
    await expectAll(served, 2, 'two');
    expect(linesWith(served.program, 'config reloaded')).toHaveLength(1);
  });

  it('with a broken config changes nothing, also for a worker that is replaced', async () => {
    const { configOf, served } = await scene();
    served.write('backends:\n  b:\n    url: nowhere\n');
    served.program.kill('SIGHUP');
    await logged(served.program, REFUSED);
    expect(linesWith(served.program, REFUSED)).toHaveLength(1);
    const [victim = 0] = workersOf(served);
    process.kill(victim, 'SIGKILL');
    await logged(served.program, 'a worker ended and is replaced');
    await expectAll(served, 1, 'one');
    served.write(configOf('two'));
    served.program.kill('SIGHUP');
    await logged(served.program, 'config reloaded, generation 2');
    await expectAll(served, 2, 'two');
  });

  it('reaches a worker that is replaced afterwards, except for what needs a restart', async () => {
    const { configOf, served } = await scene();
    served.write({ ...configOf('two'), limits: { bodyBytes: 1024 } });
    served.program.kill('SIGHUP');
    await logged(served.program, 'config reloaded, generation 2');
    const [victim = 0] = workersOf(served);
    await replaced(served, victim);
    await expectAll(served, 2, 'two');
    expect(linesWith(served.program, 'these settings need a restart')).toHaveLength(1);
    for (let n = 0; n < WORKERS; n++)
      expect((await send(served.url('b'), modern(call('two', { much: 'y'.repeat(2_000) })))).status).toBe(200);
  });

  it('is refused by all where one worker dies meanwhile', async () => {
    const { configOf, served } = await scene();
    const [, victim = 0] = workersOf(served);
    stop(victim);
    served.write(configOf('two'));
    served.program.kill('SIGHUP');
    await logged(served.program, PREPARING);
    process.kill(victim, 'SIGKILL');
    await logged(served.program, `${REFUSED}: worker 1: the process ended`);
    await expectAll(served, 1, 'one');
    served.program.kill('SIGHUP');
    await logged(served.program, 'config reloaded, generation 2');
    await expectAll(served, 2, 'two');
  });

  it('is refused by all where one worker does not answer, also by that one', async () => {
    const { configOf, served } = await scene();
    const [, victim = 0] = workersOf(served);
    stop(victim);
    served.write(configOf('two'));
    served.program.kill('SIGHUP');
    await logged(served.program, `${REFUSED}: worker 1: no answer within 5 s`);
    process.kill(victim, 'SIGCONT');
    await expectAll(served, 1, 'one');
  });

  it('is given up for SIGTERM, which ends all workers in order', async () => {
    const { configOf, served } = await scene();
    const [, victim = 0] = workersOf(served);
    stop(victim);
    served.write(configOf('two'));
    served.program.kill('SIGHUP');
    await logged(served.program, PREPARING);
    served.program.kill('SIGTERM');
    await logged(served.program, '"msg":"stopping"');
    process.kill(victim, 'SIGCONT');
    expect(await served.program.end()).toEqual({ code: 0, signal: null });
    expect(served.program.stderr).not.toContain('config reloaded');
    expect(linesWith(served.program, '"msg":"stopped"')).toHaveLength(WORKERS);
  });
});
