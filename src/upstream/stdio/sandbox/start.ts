/**
 * Starts the process of a stdio backend in a sandbox. Its limits are in force before its first instruction: a shell
 * waits until it is in its control group, and then becomes bubblewrap.
 */
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import type { SandboxConfig } from '../../../config/config.ts';
import { writeQuantity } from '../../../config/quantity.ts';
import { Failure } from '../../../errors/failure.ts';
import type { Clock } from '../../../exchange/clock.ts';
import type { ChannelNotes } from '../../channel.ts';
import { childEnvironment, type Environment } from '../environment.ts';
import { ownGroup } from '../group.ts';
import type { ChildCommand, PipedProcess } from '../start.ts';
import { sandboxArguments } from './arguments.ts';
import { type Breach, ControlGroup, groupPlaces, NoControlGroup } from './cgroups.ts';
import { BWRAP, incapable, sandboxUser } from './machine.ts';

/** A process that hits a limit is ended so soon. Each look reads two small files. */
const LOOK_MS = 500;
/** How long a group may have processes after they were killed. */
const EMPTY_MS = 50;
const EMPTY_LOOKS = 100;

const WAIT_AND_BECOME = 'read -r go <&3 && exec "$@" 3<&-';

/** What holds a process. */
export interface Sandbox {
  /** Calls once, when the process has hit a limit. */
  watch(breached: (failure: Failure) => void): void;
  /** Why the process has ended, if that was a limit. */
  verdict(): Failure | undefined;
  /** The process is gone. */
  release(): void;
}

interface SandboxPorts {
  readonly clock: Pick<Clock, 'after'>;
  readonly notes: Pick<ChannelNotes, 'overLimit'>;
}

export interface SandboxedProcess {
  readonly started: PipedProcess;
  readonly sandbox: Sandbox;
}

/** By what decides it: machines do not change while the gateway runs. A failure is looked at again. */
const capable = new Set<string>();

/** Rejects with a Failure. */
export async function startSandboxed(
  command: ChildCommand,
  settings: SandboxConfig,
  inherited: Environment,
  { clock, notes }: SandboxPorts,
): Promise<SandboxedProcess> {
  const account = sandboxUser(command.user);
  if (account !== undefined && 'why' in account) throw refused(account.why, account.cure);
  // What the config gives the backend has no part in what runs outside: no PATH, no LD_PRELOAD.
  const outside = environmentOf(inherited, {});
  const inside = environmentOf(inherited, command.env);
  const { PATH: path = '' } = outside;
  const kind = JSON.stringify([settings.network, settings.memoryBytes, settings.processes, command.user]);
  if (!capable.has(kind)) {
    const reason = await incapable(settings, path, command.user);
    if (reason !== undefined) throw refused(reason.why, reason.cure);
    capable.add(kind);
  }
  const group = groupFor(settings);
  try {
    const shown = sandboxArguments(settings, command, inside.PATH ?? path);
    const started = await spawned(['-c', WAIT_AND_BECOME, 'sh', BWRAP, '--args', '4', ...shown], {
      env: outside,
      ...(account !== undefined && account.uid !== process.getuid?.() && { uid: account.uid, gid: account.gid }),
    });
    try {
      group.add(started.pid as number);
    } catch (cause) {
      started.kill('SIGKILL');
      throw refused(`the process cannot be put into its control group (${String(cause)})`);
    }
    const [, , , go, environment] = started.stdio as readonly Writable[];
    for (const pipe of [go, environment]) pipe?.on('error', () => undefined);
    environment?.end(environmentArguments(inside));
    go?.end('\n');
    return { started: started as unknown as PipedProcess, sandbox: sandboxOf(group, settings, { clock, notes }) };
  } catch (cause) {
    group.remove();
    throw cause instanceof Failure ? cause : refused(String(cause));
  }
}

/** Nothing of ours but where programs are. */
function environmentOf(inherited: Environment, configured: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH, LANG, TZ } = childEnvironment(inherited, {}, process.platform);
  const given = { PATH: PATH ?? '/usr/local/bin:/usr/bin:/bin', LANG, TZ, HOME: '/tmp', ...configured };
  return Object.fromEntries(Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** For bubblewrap, by a pipe: every user of the machine can read command lines. */
function environmentArguments(env: Readonly<Record<string, string>>): string {
  const all = ['--clearenv', ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value])];
  return all.map((one) => `${one}\0`).join('');
}

function groupFor(settings: SandboxConfig): ControlGroup {
  try {
    return new ControlGroup(groupPlaces(settings));
  } catch (error) {
    if (error instanceof NoControlGroup) throw refused(error.message);
    throw error;
  }
}

interface SpawnSettings {
  readonly env: Record<string, string>;
  readonly uid?: number;
  readonly gid?: number;
}

function spawned(args: readonly string[], settings: SpawnSettings): Promise<ReturnType<typeof spawn>> {
  return new Promise((resolve, reject) => {
    const started = spawn('/bin/sh', args, {
      ...ownGroup,
      ...settings,
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    });
    started.once('error', reject);
    started.once('spawn', () => {
      started.off('error', reject);
      resolve(started);
    });
  });
}

function sandboxOf(group: ControlGroup, settings: SandboxConfig, { clock, notes }: SandboxPorts): Sandbox {
  let stop = (): void => undefined;
  let known: Failure | undefined;
  const look = () => {
    const { breach } = group;
    if (breach === undefined || known !== undefined) return known;
    known = breachFailure(breach, settings);
    notes.overLimit(known);
    return known;
  };
  const removeSoon = (looks: number): void => {
    if (!group.remove() && looks > 0) clock.after(EMPTY_MS, () => removeSoon(looks - 1));
  };
  return {
    watch: (breached) => {
      const next = () => {
        stop = clock.after(LOOK_MS, () => {
          const failure = look();
          if (failure === undefined) next();
          else breached(failure);
        });
      };
      if (settings.memoryBytes !== undefined || settings.processes !== undefined) next();
    },
    verdict: look,
    release: () => {
      look();
      stop();
      removeSoon(EMPTY_LOOKS);
    },
  };
}

function breachFailure(breach: Breach, { memoryBytes = 0, processes = 0 }: SandboxConfig): Failure {
  const why =
    breach === 'memory'
      ? `it used more memory than its sandbox allows (${writeQuantity(memoryBytes, 'bytes')})`
      : `it started more processes than its sandbox allows (${processes})`;
  const cure = `fix the server, or raise \`sandbox.${breach}\` of the backend`;
  return new Failure('backend_unavailable', { message: `Backend process was ended: ${why}`, cure });
}

function refused(why: string, cure = 'see docs/sandbox.md, or remove `sandbox` and trust the program'): Failure {
  return new Failure('backend_unavailable', {
    message: 'Backend process cannot be started: this machine cannot make its sandbox',
    cure,
    cause: new Error(why),
  });
}
