/**
 * A raw client of HTTP+SSE (2024-11-05): one stream for everything that it hears, one address for everything that it
 * says.
 */
import { type Answer, type Headers, type Json, type OpenAnswer, open, send } from './client.ts';
import { type Introduction, initialize } from './eras.ts';

export class SseClient {
  readonly stream: OpenAnswer;
  /** Where its messages go. */
  readonly address: string;
  /** What it presents with every request. */
  credentials: Headers;

  constructor(stream: OpenAnswer, address: string, credentials: Headers = {}) {
    this.stream = stream;
    this.address = address;
    this.credentials = credentials;
  }

  /** `url` is the address of the stream. */
  static async open(url: string, headers: Headers = {}): Promise<SseClient> {
    const stream = await open(url, { method: 'GET', headers: { accept: 'text/event-stream', ...headers } });
    const { data } = await stream.event(({ event }) => event === 'endpoint');
    return new SseClient(stream, new URL(data ?? '', url).href, headers);
  }

  /** With a session that has been agreed on. */
  static async connect(url: string, introduction: Introduction = {}, headers: Headers = {}): Promise<SseClient> {
    const client = await SseClient.open(url, headers);
    await client.ask(initialize({ revision: '2024-11-05', ...introduction }));
    await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return client;
  }

  post(body: unknown, headers: Headers = {}): Promise<Answer> {
    return send(this.address, { body, headers: { ...this.credentials, ...headers } });
  }

  /** Says it, and waits for the answer on the stream. */
  async ask(request: Json): Promise<Json> {
    await this.post(request);
    return this.stream.message(({ id, method }) => id === request.id && method === undefined);
  }

  /** Everything that was heard so far, but for the address. */
  get heard(): readonly Json[] {
    return this.stream.events.filter(({ event }) => event !== 'endpoint').map((event) => event.json());
  }

  close(): void {
    this.stream.close();
  }
}
