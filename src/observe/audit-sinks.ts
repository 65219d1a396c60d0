/** Sinks for audit records: a stream of the process, or a file that is rotated by size. */
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { AuditTarget } from './audit.ts';
import type { AuditSink } from './audit-writer.ts';
import { surviveErrors } from './line-writer.ts';

export interface ProcessStreams {
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** With a client on stdio, stdout carries the protocol: then records go to stderr. */
export function auditSink(to: AuditTarget, streams: ProcessStreams, stdoutIsProtocol: boolean): AuditSink {
  if (to.kind === 'file') return new RotatingFile(to.path, to.maxBytes, to.keep);
  return streamSink(to.kind === 'stdout' && !stdoutIsProtocol ? streams.stdout : streams.stderr);
}

function streamSink(stream: Writable): AuditSink {
  surviveErrors(stream);
  return {
    write: (lines) =>
      new Promise((resolve, reject) => {
        stream.write(lines, (error) => (error ? reject(error) : resolve()));
      }),
    close: async () => undefined,
  };
}

/** Only the user that runs the gateway may read the records. */
const OWNER_ONLY = 0o600;

export class RotatingFile implements AuditSink {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #keep: number;
  #file: FileHandle | undefined;
  #size = 0;

  constructor(path: string, maxBytes: number, keep: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#keep = keep;
  }

  async write(lines: string): Promise<void> {
    const bytes = Buffer.byteLength(lines);
    let file = await this.#open();
    if (this.#size > 0 && this.#size + bytes > this.#maxBytes) {
      await this.#rotate();
      file = await this.#open();
    }
    try {
      await file.appendFile(lines);
      this.#size += bytes;
    } catch (error) {
      // The disk was full, or the file was removed: reopen it for the next lines. No half line stays.
      await file.truncate(this.#size).catch(() => undefined);
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined);
  }

  async #open(): Promise<FileHandle> {
    if (this.#file !== undefined) return this.#file;
    this.#file = await open(this.#path, 'a', OWNER_ONLY);
    const stat = await this.#file.stat();
    this.#size = stat.size;
    if (stat.isFile() && stat.size > 0 && !(await this.#endsWithLine())) {
      await this.#file.appendFile('\n');
      this.#size += 1;
    }
    return this.#file;
  }

  /** A crash may have cut the last line: the next one must not become a part of it. */
  async #endsWithLine(): Promise<boolean> {
    const reading = await open(this.#path, 'r');
    try {
      const { buffer } = await reading.read(Buffer.alloc(1), 0, 1, this.#size - 1);
      return buffer.toString() === '\n';
    } finally {
      await reading.close();
    }
  }

  /** `audit.jsonl` becomes `audit.jsonl.1`, which becomes `.2`, and the oldest is deleted. */
  async #rotate(): Promise<void> {
    await this.close();
    const name = (age: number) => (age === 0 ? this.#path : `${this.#path}.${age}`);
    await rm(name(this.#keep), { force: true });
    for (let age = this.#keep - 1; age >= 0; age--) await moved(name(age), name(age + 1));
  }
}

async function moved(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
