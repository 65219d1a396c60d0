/** One request on a connection of its own, read to its end as JSON or as an event stream. */
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly message?: string };
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly reason?: string } };
}

export interface Exchange {
  readonly method?: 'POST' | 'GET' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Heard as soon as it is there: a question cannot wait for the end of the stream. */
  readonly onMessage?: (message: Message, text: string) => void;
  /** For those who go away. */
  readonly onRequest?: (request: ClientRequest) => void;
  /** Milliseconds between two reads of an answer. */
  readonly slowReads?: number;
}

export interface Ended {
  /** 0: no answer at all. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Why it ended early. */
  readonly error?: string;
  /** Of the last event that had one. */
  readonly lastEventId?: string;
}

export function exchange(url: string, { method = 'POST', headers = {}, body, ...how }: Exchange): Promise<Ended> {
  return new Promise((resolve) => {
    let status = 0;
    let answered: IncomingHttpHeaders = {};
    let text = '';
    let error: string | undefined;
    let lastEventId: string | undefined;
    const both = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const sent = httpRequest(url, { method, agent: false, headers: { ...both, ...headers } });
    let reading: IncomingMessage | undefined;
    sent.on('response', (response) => {
      reading = response;
      status = response.statusCode ?? 0;
      answered = response.headers;
      const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (how.slowReads !== undefined) {
          response.pause();
          setTimeout(() => response.resume(), how.slowReads);
        }
        if (!isStream) return;
        const events = (rest + chunk).split('\n\n');
        rest = events.pop() ?? '';
        for (const event of events) {
          lastEventId = /^id: ?(.+)$/m.exec(event)?.[1] ?? lastEventId;
          tell(dataOf(event), how.onMessage);
        }
      });
      response.on('end', () => {
        if (!isStream) tell(text, how.onMessage);
      });
      response.on('error', (reason) => {
        error = String(reason);
      });
    });
    sent.on('error', (reason) => {
      error = String(reason);
    });
    const finish = () =>
      resolve({
        ...{ status, headers: answered, text },
        ...(error === undefined ? {} : { error }),
        ...(lastEventId === undefined ? {} : { lastEventId }),
      });
    // A slow reader has the end of the answer later than the end of the connection.
    sent.on('close', () => {
      if (reading === undefined || reading.destroyed) finish();
      else reading.once('close', finish);
    });
    how.onRequest?.(sent);
    sent.end(body);
  });
}

function dataOf(event: string): string {
  return event
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trim())
    .join('\n');
}

function tell(text: string, onMessage: Exchange['onMessage']): void {
  if (text === '' || onMessage === undefined) return;
  let message: Message;
  try {
    message = JSON.parse(text) as Message;
  } catch {
    return;
  }
  onMessage(message, text);
}
