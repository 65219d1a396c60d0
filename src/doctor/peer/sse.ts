/** HTTP+SSE of 2024-11-05: one stream for everything that the server says, and an address for POSTs. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { type SseEvent, SseReader } from '../../wire/sse.ts';
import { exchange, type HttpPeerOptions, requestTo } from './http.ts';
import { Inbox } from './inbox.ts';
import { type Peer, readLimits, type SendOptions } from './peer.ts';
import { objectIn, type PeerFault, type PeerReply, parsed, shown } from './reply.ts';

export class SsePeer implements Peer {
  readonly kind = 'sse';
  readonly #options: HttpPeerOptions;
  readonly #inbox: Inbox;
  readonly #request: ClientRequest;
  readonly #events = new SseReader({ eventBytes: readLimits.bytes });
  #endpoint: string | undefined;
  #firstEvent: string | undefined;

  /** Opens the stream, and waits for the address. */
  static async open(options: HttpPeerOptions): Promise<SsePeer | PeerFault> {
    const peer = new SsePeer(options);
    const { fault } = await peer.#inbox.listen(undefined, ({ endpoint }) => endpoint !== undefined);
    if (fault === undefined) return peer;
    await peer.close();
    return fault;
  }

  private constructor(options: HttpPeerOptions) {
    this.#options = options;
    this.#inbox = new Inbox(options.timeoutMs);
    const headers = { ...options.headers, accept: 'text/event-stream' };
    this.#request = requestTo(options.url)(options.url, { headers, agent: false });
    const end = (detail: string) => this.#inbox.end({ finding: 'sse_endpoint', detail });
    this.#request.on('error', (error) => end(error.message));
    this.#request.on('response', (response: IncomingMessage) => {
      const type = response.headers['content-type'] ?? 'no content type';
      if (response.statusCode !== 200 || !type.startsWith('text/event-stream')) {
        end(`GET is answered with HTTP ${response.statusCode}, ${type}`);
        this.#request.destroy();
        return;
      }
      response.on('error', (error) => end(error.message));
      response.on('data', (chunk: Buffer) => this.#read(chunk));
      response.on('end', () => end('the stream ended'));
    });
    this.#request.end();
  }

  /** The name of the first event of the stream. */
  get firstEvent(): string | undefined {
    return this.#firstEvent;
  }

  /** The address for POSTs. */
  get endpoint(): string {
    return this.#endpoint ?? this.#options.url;
  }

  async send(text: string, { id, until }: SendOptions = {}): Promise<PeerReply> {
    const { headers, secrets, timeoutMs } = this.#options;
    const hearing = id === undefined && until === undefined ? undefined : this.#inbox.listen(id, until);
    const posted = await exchange(
      { method: 'POST', url: this.endpoint, headers: { ...headers, 'content-type': 'application/json' }, body: text },
      { secrets, timeoutMs },
    );
    const status = posted.http?.status ?? 0;
    // A refused message gets no answer on the stream.
    if (status < 200 || status > 299)
      this.#inbox.end(posted.fault ?? { finding: 'http_status', detail: `HTTP ${status} for a POST` });
    const { answer, others = [], fault = posted.fault, text: heard = '' } = (await hearing) ?? {};
    const { sent, received } = posted.bytes;
    return { ...posted, answer, others, fault, bytes: { sent, received: `${received}\n\n${shown(heard, secrets)}` } };
  }

  close(): Promise<undefined> {
    this.#request.destroy();
    return Promise.resolve(undefined);
  }

  #read(chunk: Buffer): void {
    for (const { event = 'message', data } of this.#eventsIn(chunk)) {
      const text = Buffer.from(data ?? []).toString('utf8');
      this.#firstEvent ??= event;
      if (event === 'endpoint') this.#named(text);
      const message = event === 'message' ? objectIn(parsed(text)?.value) : undefined;
      if (message !== undefined) this.#inbox.message(message, text);
      else this.#inbox.note(text);
    }
  }

  #eventsIn(chunk: Buffer): readonly SseEvent[] {
    try {
      return this.#events.push(chunk);
    } catch (error) {
      this.#inbox.end({ finding: 'sse_malformed', detail: error instanceof Error ? error.message : String(error) });
      this.#request.destroy();
      return [];
    }
  }

  /** An address elsewhere would get the messages and the credentials of the client. */
  #named(text: string): void {
    const { url } = this.#options;
    const address = URL.canParse(text, url) ? new URL(text, url) : undefined;
    if (address === undefined || address.origin !== new URL(url).origin) {
      this.#inbox.end({ finding: 'sse_endpoint', detail: `the address is not one of this server: ${text}` });
      return;
    }
    this.#endpoint = address.href;
    this.#inbox.message({ endpoint: address.href }, text);
  }
}
