/** `sandbox` of a stdio backend: what its processes see and may use. */
import { isAbsolute, relative, resolve, sep } from 'node:path';
import * as z from 'zod';
import type { BackendConfig, SandboxConfig } from './config.ts';
import type { ConfigDocument, Path } from './document.ts';
import { check } from './issues.ts';
import { writeQuantity } from './quantity.ts';
import * as shape from './shapes.ts';

const MiB = 1024 ** 2;
/** A Node program starts with less than 100 MiB. */
const USUAL_MEMORY = 512 * MiB;
/** Threads count: a Node program has a dozen. */
const USUAL_PROCESSES = 128;

const paths = z.array(shape.oneLine, { error: 'a list of paths' });
const orNone = (range: Parameters<typeof shape.quantity>[0]) =>
  z.union([z.literal('none'), shape.quantity(range)], { error: 'a limit, or `none`' });

const sandboxShape = shape.once(() =>
  shape.closed('a map with `network`, `read`, `write`, `memory` or `processes`, which may be empty: {}', {
    network: shape.flag.default(false),
    read: paths.default([]),
    write: paths.default([]),
    memory: orNone({ unit: 'bytes', min: 16 * MiB, max: 1024 ** 4 }).default(USUAL_MEMORY),
    processes: orNone({ unit: 'count', min: 8, max: 100_000 }).default(USUAL_PROCESSES),
  }),
);

/** Undefined where it is wrong: that was reported. `directory`: what paths are relative to. */
export function readSandbox(
  document: ConfigDocument,
  path: Path,
  value: unknown,
  { directory, cwd }: { readonly directory: string; readonly cwd: string | undefined },
): SandboxConfig | undefined {
  if (value === undefined) return undefined;
  const given = check(document, path, value, sandboxShape());
  if (given === undefined) return undefined;
  const { network, memory, processes } = given;
  const [read, write] = [given.read, given.write].map((list) => list.map((one) => resolve(directory, one)));
  const all = [...(read ?? []), ...(write ?? [])];
  const place = cwd === undefined ? undefined : resolve(directory, cwd);
  if (place !== undefined && !all.some((root) => isWithin(place, root)))
    document.report([...path.slice(0, -1), 'cwd'], {
      message: '`cwd` is not there in the sandbox',
      expected: 'a directory within one of `read` or `write` of the `sandbox`',
    });
  // The backend could put a link in its place, which would lead anywhere at its next start.
  for (const root of write ?? [])
    for (const inner of all)
      if (inner !== root && isWithin(inner, root))
        document.report(path, {
          message: `${inner} is within ${root}, which the backend may change`,
          expected: 'no path of `read` or `write` within a path of `write`',
        });
  return {
    network,
    read: read ?? [],
    write: write ?? [],
    ...(memory !== 'none' && { memoryBytes: memory }),
    ...(processes !== 'none' && { processes }),
  };
}

/** What a backend must not see, and what it is called. */
export interface GatewayFile {
  readonly path: string | undefined;
  readonly what: string;
}

/** No sandbox shows the gateway's own files. */
export function checkSandboxes(
  document: ConfigDocument,
  backends: readonly BackendConfig[],
  files: readonly GatewayFile[],
): void {
  for (const backend of backends) {
    if (backend.kind !== 'stdio' || backend.sandbox === undefined) continue;
    for (const list of ['read', 'write'] as const)
      for (const root of backend.sandbox[list]) {
        const seen = files.find(({ path }) => path !== undefined && (isWithin(path, root) || isWithin(root, path)));
        if (seen === undefined) continue;
        document.report(['backends', backend.name, 'sandbox', list], {
          message: `the backend would see ${seen.what} of the gateway: ${root} has ${seen.path} in it`,
          expected: 'directories that have none of the gateway’s files in them',
        });
      }
  }
}

export function describeSandbox({ network, read, write, memoryBytes, processes }: SandboxConfig): string {
  const memory = memoryBytes === undefined ? 'any memory' : `${writeQuantity(memoryBytes, 'bytes')} of memory`;
  const parts = [
    network ? 'with network' : 'no network',
    ...(read.length === 0 ? [] : [`reads ${read.join(', ')}`]),
    ...(write.length === 0 ? [] : [`writes ${write.join(', ')}`]),
    memory,
    processes === undefined ? 'any number of processes' : `${processes} processes and threads`,
  ];
  return `sandbox: ${parts.join('; ')}`;
}

function isWithin(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
