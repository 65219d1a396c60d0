/**
 * Ids of tasks, as clients get them. A backend may treat its own ids as bearer tokens, and where one credential serves
 * all principals it cannot tell whose task is asked for. So an id is sealed for the principal and the endpoint that the
 * task was made for. It names the backend, the backend's id, and the tool, by whose rules the task is decided. Nothing
 * is kept: ids survive a restart, and any process with the same key opens them.
 *
 * The same task gets another text each time that it is sealed. Only the result that makes a task gets a new id; later
 * messages about the task repeat the id that the client sent.
 * https://github.com/modelcontextprotocol/ext-tasks: Security Considerations
 */
import { KeyedSeals } from '../exchange/keyed-seals.ts';
import type { KeyedSeal } from '../store/ports.ts';

/**
 * Of all that an id names. Ids travel in `Mcp-Name`, and servers take 8 to 16 KiB of headers. Backends use some 40
 * bytes for an id.
 */
const MOST_BYTES = 2048;

/** What an id is bound to. */
export interface TaskPlace {
  /** The path of the endpoint: others may have different rules. */
  readonly endpoint: string;
  /** The key of the principal. */
  readonly principal: string;
}

export interface TaskOrigin {
  readonly backend: string;
  /** The id by which the backend knows the task. */
  readonly id: string;
  /** The tool that made the task, by the backend's own name. */
  readonly tool: string;
  /** Until when the id opens, in milliseconds since 1970. Absent: for as long as the backend knows the task. */
  readonly until?: number | undefined;
  /** Which upstream session has the task, where the backend keeps it in one. */
  readonly session?: string | undefined;
}

export interface TaskIdPorts {
  /** Which gateway issued the ids: none takes the tasks of another that has the same key. */
  readonly instance: string;
  /** The current one first, then those whose ids are still accepted. */
  readonly seals: readonly KeyedSeal[];
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
}

export class TaskIds {
  readonly #ports: TaskIdPorts;
  readonly #seals: KeyedSeals;

  constructor(ports: TaskIdPorts) {
    this.#ports = ports;
    this.#seals = new KeyedSeals(ports.seals, MOST_BYTES);
  }

  /** A new id, of characters that headers allow. Undefined where the backend's id is too long. */
  issue({ backend, id, tool, until, session }: TaskOrigin, place: TaskPlace): string | undefined {
    const facts: SealedTaskFacts = [backend, id, tool, until ?? null, session ?? null];
    return this.#seals.seal(JSON.stringify(facts), this.#context(place));
  }

  /** Undefined for everything that was not issued by this gateway for this place, and after the end of the id. */
  open(taskId: string, place: TaskPlace): TaskOrigin | undefined {
    const plain = this.#seals.open(taskId, this.#context(place));
    if (plain === undefined) return undefined;
    const [backend, id, tool, until, session] = JSON.parse(plain) as SealedTaskFacts;
    if (until !== null && until <= this.#ports.timeOfDay()) return undefined;
    return { backend, id, tool, ...(until !== null && { until }), ...(session !== null && { session }) };
  }

  #context({ endpoint, principal }: TaskPlace): string {
    return JSON.stringify(['task', this.#ports.instance, endpoint, principal]);
  }
}

type SealedTaskFacts = [backend: string, id: string, tool: string, until: number | null, session: string | null];
