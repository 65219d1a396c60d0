/** stdio: one message per line, one client, one session. The output carries only protocol messages. */
import type { Readable, Writable } from 'node:stream';
import { Failure } from '../errors/failure.ts';
import type { Endpoint, Gateway, PersistentConnection } from '../exchange/arrival.ts';
import type { StreamEvent } from '../exchange/outlet.ts';
import { failureBytes } from '../wire/compose.ts';
import { LineReader, lineBytes } from '../wire/lines.ts';
import { readMessage } from '../wire/scan.ts';
import type { IngressNotes } from './events.ts';
import { faultFailure } from './events.ts';
import { Outbox, type OutboxLimits } from './outbox.ts';

export interface StdioOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly gateway: Gateway;
  readonly endpoint: Endpoint;
  readonly limits: OutboxLimits & {
    /** The limit of one line, as of one body over HTTP. */
    readonly bodyBytes: number;
    readonly jsonDepth: number;
  };
  readonly notes: IngressNotes;
  /** Ends the connection from our side. */
  readonly signal?: AbortSignal;
}

/**
 * Resolves when either side has ended and all output was written. Rejects with the `Failure` of a refused connection.
 */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { input, gateway, endpoint, limits, notes, signal } = options;
  const connection = new LineConnection(options.output, limits, notes);
  const sender = await gateway.authenticate(endpoint, 'local');
  if (sender instanceof Failure) throw sender;
  const line = await gateway.connect(endpoint, sender, 'stdio', connection);
  if (line instanceof Failure) throw line;
  const lines = new LineReader({ lineBytes: endpoint.profile.bodyBytes ?? limits.bodyBytes });
  const take = (read: readonly (Uint8Array | Failure)[]): void => {
    for (const one of read) receive(one, line, connection, options);
  };
  const onData = (chunk: Uint8Array): void => take(lines.push(chunk));

  await new Promise<void>((resolve) => {
    let ended = false;
    const end = (): void => {
      if (ended) return;
      ended = true;
      signal?.removeEventListener('abort', end);
      input.off('data', onData);
      input.pause();
      line.close();
      connection.end();
    };
    connection.onClose(() => {
      end();
      resolve();
    });
    signal?.addEventListener('abort', end);
    input.on('error', end);
    input.on('close', end);
    input.on('end', () => {
      // A last line without a line feed counts as a line.
      if (!ended) take(lines.end());
      end();
    });
    if (signal?.aborted === true || input.destroyed || input.readableEnded) end();
    else input.on('data', onData);
  });
}

function receive(
  read: Uint8Array | Failure,
  line: PersistentConnection,
  connection: LineConnection,
  options: StdioOptions,
): void {
  try {
    if (read instanceof Failure) throw read;
    line.receive(readMessage(read, { depth: options.endpoint.profile.jsonDepth ?? options.limits.jsonDepth }));
  } catch (error) {
    // The era is not known yet. Failures of unreadable messages are the same in both.
    const failure = faultFailure(error, options.notes);
    connection.send({ id: undefined, data: failureBytes(failure, 'legacy'), urgency: 'keep' });
  }
}

class LineConnection extends Outbox {
  readonly #output: Writable;

  constructor(output: Writable, limits: OutboxLimits, notes: IngressNotes) {
    super(limits, notes);
    this.#output = output;
    // A reader that has closed its end (EPIPE) is not our error.
    output.on('error', () => this.close());
    output.on('close', () => this.close());
  }

  protected encode(event: StreamEvent): Uint8Array {
    return lineBytes(event.data);
  }

  protected write(bytes: Uint8Array): boolean {
    if (this.#output.write(bytes)) return true;
    this.#output.once('drain', () => this.release());
    return false;
  }

  /** A pipe cannot be resumed, so it is not paused. */
  override pause(): void {
    // Deliberately empty.
  }

  protected goodbye(): undefined {
    return undefined;
  }

  /** The process's own output cannot be ended. It is enough that everything was written. */
  protected finish(): void {
    this.#output.write('', () => this.close());
  }

  protected destroy(): void {
    this.#output.destroy();
  }
}
