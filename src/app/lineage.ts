/**
 * Detects gateways that start themselves. A stdio backend may be this program with the same config file, which would
 * start itself without end. So a gateway tells each process that it starts, in the environment, which gateways it
 * descends from. A gateway that finds its own config file there refuses to start.
 */
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { digest } from './digest.ts';

const VARIABLE = 'BASCULE_VIA';
/**
 * A chain of a few gateways is a choice. This many start each other with a different file each time, or with files that
 * cannot be told apart.
 */
const MOST_GATEWAYS = 8;
const ID_CHARACTERS = 32;
const MARK_CHARACTERS = 32;
/** The id of the process, and the mark of its config file. */
const LINK = /^[\w-]{32}:[0-9a-f]{32}$/;

export interface Lineage {
  /** Ids of the gateways that this process descends from, the outermost first. */
  readonly ids: readonly string[];
  /** Why this process must not serve, as text for people. */
  readonly refusal: string | undefined;
  /** Environment variables for the processes that this gateway starts. `id` is its own id. */
  environment(id: string): Readonly<Record<string, string>>;
}

export function lineageOf(env: Readonly<Record<string, string | undefined>>, config: string): Lineage {
  const links = (env[VARIABLE] ?? '').split(',').filter((link) => LINK.test(link));
  const own = markOf(config);
  return {
    ids: links.map((link) => link.slice(0, ID_CHARACTERS)),
    refusal: refusalOf(links, own, config),
    environment: (id) => ({ [VARIABLE]: [...links, `${id}:${own}`].join(',') }),
  };
}

function refusalOf(links: readonly string[], own: string, config: string): string | undefined {
  if (links.some((link) => link.endsWith(`:${own}`)))
    return (
      `${config} is already served by a gateway that started this process: the gateways would start each other without end. ` +
      `Remove the backend that runs this program from that file, or give it another config. (${VARIABLE})`
    );
  if (links.length >= MOST_GATEWAYS)
    return (
      `${links.length} gateways have started each other, the last one this process. ` +
      `Find the backend that runs this program, and remove it from its config. (${VARIABLE})`
    );
  return undefined;
}

/**
 * The same mark for every path of the file. It is a digest, because other programs see it and need not know the path.
 */
function markOf(config: string): string {
  return digest(realPath(resolve(config))).slice(0, MARK_CHARACTERS);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // The demo has no config file.
    return path;
  }
}
