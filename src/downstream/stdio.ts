/** stdio: one message a line, one client, one session. The output carries protocol alone. */
import type { Readable, Writable } from 'node:stream';
import { Failure } from '../errors/failure.ts';
import type { Endpoint, Gateway, PersistentConnection } from '../exchange/arrival.ts';
import type { StreamEvent } from '../exchange/outlet.ts';
import { failureBytes } from '../wire/compose.ts';
import { LineReader, lineBytes } from '../wire/lines.ts';
import { readMessage } from '../wire/scan.ts';
import { faultFailure } from './fault.ts';
import type { IngressNotes } from './notes.ts';
import { Outbox, type OutboxLimits } from './outbox.ts';

export interface StdioOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly gateway: Gateway;
  readonly endpoint: Endpoint;
  readonly limits: OutboxLimits & {
    /** One line is what a body is over HTTP. */
    readonly bodyBytes: number;
    readonly jsonDepth: number;
  };
  readonly notes: IngressNotes;
  /** Ends the service from our side. */
  readonly signal?: AbortSignal;
}

/** Resolves when either side has ended and what was to be said was handed over. Rejects with the Failure of a refused connection. */
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
      // A last line without an end is one all the same.
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
    // Nobody knows yet which era is spoken; what is told of unreadable messages is the same in both.
    const failure = faultFailure(error, options.notes);
    connection.send({ id: undefined, data: failureBytes(failure, 'legacy'), urgency: 'keep' });
  }
}

class LineConnection extends Outbox {
  readonly #output: Writable;

  constructor(output: Writable, limits: OutboxLimits, notes: IngressNotes) {
    super(limits, notes);
    this.#output = output;
    // A reader that went away (EPIPE) is no fault of ours.
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

  /** There is no coming back to a pipe: it stays as it is. */
  override pause(): void {
    // Deliberately nothing.
  }

  protected goodbye(): undefined {
    return undefined;
  }

  /** The process's own output cannot be ended; it is enough that everything was handed over. */
  protected finish(): void {
    this.#output.write('', () => this.close());
  }

  protected destroy(): void {
    this.#output.destroy();
  }
}
