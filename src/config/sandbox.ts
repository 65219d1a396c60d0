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
  return {
    network,
    read: read ?? [],
    write: write ?? [],
    ...(memory !== 'none' && { memoryBytes: memory }),
    ...(processes !== 'none' && { processes }),
  };
}

const programFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** Programs and libraries of the system, which every sandbox shows. */
export const systemFolders: readonly string[] = [...programFolders, '/nix/store', '/gnu/store'];

/** What a backend must not see, and what it is called. */
export interface GatewayFile {
  readonly path: string | undefined;
  readonly what: string;
}

/** Through it, the environments of other processes can be read, and their files. */
const processes: GatewayFile = { path: '/proc', what: 'the processes' };

/** No sandbox shows the gateway's own files. `realPath` follows links, as the sandbox does. */
export function checkSandboxes(
  document: ConfigDocument,
  backends: readonly BackendConfig[],
  files: readonly GatewayFile[],
  realPath: (path: string) => string,
): void {
  const boxed = backends.flatMap((backend) =>
    backend.kind === 'stdio' && backend.sandbox !== undefined ? [{ ...backend, box: backend.sandbox }] : [],
  );
  const own = [...files, processes].flatMap(({ path, what }) =>
    path === undefined ? [] : [path, realPath(path)].map((one) => ({ path: one, what })),
  );
  const ownIn = (root: string) => own.find(({ path }) => isWithin(path, root) || isWithin(root, path));
  const changed = boxed.flatMap(({ name, box }) => box.write.map((root) => ({ root, name })));
  for (const { name, box } of boxed) {
    const path = ['backends', name, 'sandbox'];
    // What is in a store of packages, every user can read, and a config may well be generated into it.
    const inSystem = programFolders
      .map(realPath)
      .flatMap((root) => own.find((file) => isWithin(file.path, root)) ?? []);
    for (const seen of inSystem.slice(0, 1))
      document.report(path, {
        message: `the backend would see ${seen.what} of the gateway: every sandbox shows where ${seen.path} is`,
        expected: 'the gateway’s files elsewhere, in /etc, /var or /opt',
      });
    for (const list of ['read', 'write'] as const)
      for (const root of box[list]) {
        const seen = ownIn(root) ?? ownIn(realPath(root));
        if (seen !== undefined)
          document.report([...path, list], {
            message: `the backend would see ${seen.what} of the gateway: ${root} has ${seen.path} in it`,
            expected: 'directories that have none of the gateway’s files in them',
          });
        // A backend could put a link in its place, which would lead anywhere at the next start.
        const outer = changed.find((one) => isInside(root, one.root) || isInside(realPath(root), realPath(one.root)));
        if (outer !== undefined)
          document.report(path, {
            message: `${root} is within ${outer.root}, which the backend ${outer.name} may change`,
            expected: 'no path of `read` or `write` within a path of `write`',
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

function isInside(path: string, root: string): boolean {
  return path !== root && isWithin(path, root);
}
