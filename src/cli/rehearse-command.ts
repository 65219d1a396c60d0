/** `bascule policy rehearse`: what another config would have decided about the requests that were recorded. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { digest } from '../app/digest.ts';
import { createNames } from '../catalog/names.ts';
import type { Config } from '../config/config.ts';
import { printable } from '../config/problems.ts';
import { readQuantity } from '../config/quantity.ts';
import { Policy } from '../policy/policy.ts';
import {
  type RecordedPrincipal,
  type RecordedRequest,
  type RecordingSettings,
  readByRules,
} from '../policy/recorded-request.ts';
import { type Rehearsed, type RehearsedChange, readRecorded, rehearse } from '../policy/rehearse.ts';

export interface RehearseCommand {
  /** The config to come. */
  readonly next: Config;
  readonly recording: Pick<RecordingSettings, 'path'>;
  /** Such as `24h`. */
  readonly since: string;
  readonly isJson: boolean;
  readonly now: number;
  readonly say: (text: string) => void;
  readonly remark: (text: string) => void;
}

/** 0: nothing changes. 1: something would be decided otherwise. 2: nothing can be said. */
export type RehearseExit = 0 | 1 | 2;

const longest = { unit: 'ms', min: 1, max: 3_650 * 86_400_000 } as const;

export function rehearsePolicy(command: RehearseCommand): RehearseExit {
  const { next, recording, since, isJson, now, say, remark } = command;
  const span = /[a-z]$/.test(since) ? readQuantity(since, longest) : undefined;
  if (span === undefined) {
    remark('--since is a time such as 24h or 7d');
    return 2;
  }
  if (next.policy?.cedar !== undefined) {
    remark('the config has `policy.cedar`, and what Cedar reads is not recorded: rehearse the rules without it');
    return 2;
  }
  const recorded = requestsIn(recording).filter(({ time }) => time >= now - span);
  if (recorded.length === 0) {
    remark(printable(`${recording.path}: no request was recorded in the last ${since}`));
    return 2;
  }
  const names = next.backends.map(({ name }) => name);
  const world = {
    endpoints: next.endpoints.map(({ path }) => path),
    backends: [...names, ...next.services.map(({ name }) => name)],
    encode: createNames(names, digest).encode,
    digest,
  };
  const policy = next.policy && new Policy(next.policy, world, 0);
  const reads = readByRules(next.policy).arguments;
  const groups = grouped(recorded.flatMap((request) => rehearse(request, policy, reads) ?? []));
  if (isJson) say(JSON.stringify({ requests: recorded.length, changes: groups }, null, 2));
  else {
    for (const one of groups) say(printable(lineOf(one)));
    say(
      `${recorded.length} requests, ${groups.length === 0 ? 'all decided as before' : `${groups.length} kinds of change`}`,
    );
  }
  return groups.some(({ change }) => change !== 'unsure') ? 1 : 0;
}

/** The newest file, the older ones beside it, and those of workers. */
function requestsIn({ path }: Pick<RecordingSettings, 'path'>): readonly RecordedRequest[] {
  const name = basename(path);
  const isPart = (file: string) =>
    file.startsWith(name) && /^(?:\.worker-\d+)?(?:\.\d+)?$/.test(file.slice(name.length));
  const folder = dirname(path);
  const files = existsSync(folder) ? readdirSync(folder).filter(isPart) : [];
  return files.flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .flatMap((line) => readRecorded(line) ?? []),
  );
}

interface ChangeGroup {
  readonly change: RehearsedChange;
  readonly who: string;
  readonly action: string;
  readonly endpoint: string;
  readonly name: string | undefined;
  readonly rules: readonly string[];
  count: number;
}

function grouped(all: readonly Rehearsed[]): readonly ChangeGroup[] {
  const found = new Map<string, ChangeGroup>();
  for (const { change, request, rules } of all) {
    const { principal, row, endpoint, thing } = request;
    const group = { change, who: whoIs(principal), action: row.action, endpoint, name: thing?.name, rules };
    const key = JSON.stringify(group);
    const known = found.get(key);
    if (known === undefined) found.set(key, { ...group, count: 1 });
    else known.count += 1;
  }
  return [...found.values()];
}

function whoIs({ kind, keyName, subject, clientId }: RecordedPrincipal): string {
  if (kind === 'key') return `key:${keyName}`;
  return subject ?? (clientId === undefined ? kind : `client:${clientId}`);
}

const words = {
  denied: 'would be denied',
  allowed: 'would be allowed',
  asked: 'would need an approval',
  unsure: 'cannot be rehearsed',
} as const;

function lineOf({ change, who, action, endpoint, name, rules, count }: ChangeGroup): string {
  const what = name === undefined ? action : `${action} ${name}`;
  const by = rules.length === 0 ? 'no rule' : rules.join(', ');
  return `${words[change]}: ${who}, ${what} at ${endpoint} (${count} times), by ${by}`;
}
