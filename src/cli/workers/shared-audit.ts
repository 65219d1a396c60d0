/**
 * The audit records of all workers go to one place, which the primary process writes: a file that is rotated and
 * repaired has one writer, and lines in a pipe are not mixed. Each worker queues its records within its own limits and
 * has one write under way, which succeeds once the primary has written it.
 */
import type { AuditTarget } from '../../observe/audit.ts';
import { auditSink } from '../../observe/audit-sinks.ts';
import type { AuditSink } from '../../observe/audit-writer.ts';
import type { PrimaryService, Seated, WorkerPeer } from './questions.ts';

/** Longer than a disk stalls. Lines that are written even later are told as lost, and are there. */
const WRITE_MS = 60_000;
const CLOSE_MS = 1_000;

interface SharedSink {
  /** The target as JSON. */
  readonly settings: string;
  readonly sink: AuditSink;
  readonly users: Set<Seated>;
  /** Ends when everything that was given to the sink was written, or not. */
  last: Promise<void>;
}

export class SharedAudit implements PrimaryService {
  /** By the path of the file, or the kind. */
  readonly #sinks = new Map<string, SharedSink>();

  joined(worker: Seated): void {
    worker.peer.answer('audit', async ({ to, lines }) => {
      const shared = this.#sinkFor(to);
      shared.users.add(worker);
      // In the order of arrival: a sink takes one write after the other.
      const written = shared.last.then(() => shared.sink.write(lines));
      shared.last = written.catch(() => undefined);
      await written;
      return null;
    });
    worker.peer.answer('auditClose', async (to) => {
      await this.#leave(worker, keyOf(to));
      return null;
    });
  }

  left(worker: Seated): void {
    for (const key of this.#sinks.keys()) void this.#leave(worker, key);
  }

  /** What dead workers have handed over is written, too. */
  async close(): Promise<void> {
    await Promise.all([...this.#sinks.values()].map(closed));
  }

  /** A file has one writer, also while a reload changes how it is rotated. */
  #sinkFor(to: AuditTarget): SharedSink {
    const [key, settings] = [keyOf(to), JSON.stringify(to)];
    const known = this.#sinks.get(key);
    if (known?.settings === settings) return known;
    const last = known === undefined ? Promise.resolve() : closed(known);
    const made = { settings, sink: auditSink(to, process, false), users: new Set<Seated>(known?.users), last };
    this.#sinks.set(key, made);
    return made;
  }

  async #leave(worker: Seated, key: string): Promise<void> {
    const shared = this.#sinks.get(key);
    if (shared === undefined || !shared.users.delete(worker) || shared.users.size > 0) return;
    this.#sinks.delete(key);
    await closed(shared);
  }
}

function keyOf(to: AuditTarget): string {
  return to.kind === 'file' ? to.path : to.kind;
}

async function closed({ last, sink }: SharedSink): Promise<void> {
  await last;
  await sink.close();
}

/** In a worker: the place where the primary process writes. */
export function sinkAtPrimary(peer: WorkerPeer, to: AuditTarget): AuditSink {
  return {
    write: async (lines) => void (await peer.ask('audit', { to, lines }, WRITE_MS)),
    close: async () => void (await peer.ask('auditClose', to, CLOSE_MS)),
  };
}
