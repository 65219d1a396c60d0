/** Serves pages on node:http: reads a small form, calls the page, and writes its response. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { html } from './html.ts';
import { type PageRequest, type PageResponse, view } from './request.ts';

export interface Mounted {
  /** `path` is that of the request line, without the query. */
  owns(path: string): boolean;
  /** Never throws or rejects: every error becomes a response. */
  handle(req: IncomingMessage, res: ServerResponse): void;
}

export interface PageSet {
  owns(path: string): boolean;
  answer(request: PageRequest): Promise<PageResponse>;
}

/** An access key has under 100 bytes and a password seldom over 100; the rest of a form is our CSRF token. */
export const FORM_BYTES = 8 * 1024;
/** A form fits in one packet. A client that takes longer only holds a socket. */
export const FORM_MS = 10_000;

export interface MountPorts {
  /** As every per-address limit of the gateway counts it. */
  clientAddress(req: IncomingMessage): string;
  /** Receives unexpected errors. Their messages may contain what the browser sent, so it must not log them. */
  broken(error: unknown): void;
}

export function mount(pages: PageSet, { clientAddress, broken }: MountPorts): Mounted {
  const answerTo = async (req: IncomingMessage, body: Uint8Array): Promise<PageResponse> => {
    try {
      return await pages.answer(requestOf(req, body, clientAddress(req)));
    } catch (error) {
      broken(error);
      return fault;
    }
  };
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const body = await bodyOf(req);
    if (body === 'cut off') return;
    if (body === 'too large') res.setHeader('connection', 'close');
    write(res, body === 'too large' ? tooLarge : await answerTo(req, body), req.method === 'HEAD');
  };
  return {
    owns: (path) => pages.owns(path),
    handle: (req, res) => {
      serve(req, res).catch((error) => {
        broken(error);
        res.destroy();
      });
    },
  };
}

function requestOf(req: IncomingMessage, body: Uint8Array, clientAddress: string): PageRequest {
  // A request line may contain a whole URL (RFC 9112, 3.2.2); only the part after the host matters here.
  const target = (req.url ?? '/').replace(/^https?:\/\/[^/?#]*/i, '');
  const cut = target.indexOf('?');
  const headers = Object.entries(req.headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return {
    method: req.method ?? '',
    path: cut === -1 ? target : target.slice(0, cut),
    query: new URLSearchParams(cut === -1 ? '' : target.slice(cut + 1)),
    headers: Object.fromEntries(headers),
    body,
    remoteAddress: req.socket.remoteAddress,
    clientAddress,
  };
}

/** Never rejects. */
function bodyOf(req: IncomingMessage): Promise<Uint8Array | 'too large' | 'cut off'> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const settle = (body: Uint8Array | 'too large' | 'cut off') => {
      clearTimeout(timer);
      req.off('data', take);
      resolve(body);
    };
    const take = (chunk: Uint8Array) => {
      size += chunk.byteLength;
      chunks.push(chunk);
      if (size <= FORM_BYTES) return;
      settle('too large');
      // Discard the rest until the connection closes with the response.
      req.resume();
    };
    const timer = setTimeout(() => req.destroy(), FORM_MS);
    req.on('data', take);
    req.once('end', () => settle(Buffer.concat(chunks)));
    req.once('error', () => settle('cut off'));
    req.once('close', () => settle('cut off'));
  });
}

function write(res: ServerResponse, { status, headers, body }: PageResponse, headOnly: boolean): void {
  const bytes = Buffer.from(body, 'utf8');
  res.writeHead(status, {
    ...Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
    ),
    'content-length': bytes.byteLength,
  });
  res.end(headOnly ? undefined : bytes);
}

const tooLarge = view(
  413,
  'The form is too large',
  html`<p>The form has more data than the gateway accepts. Go back and try again.</p>`,
);

const fault = view(
  500,
  'The gateway failed',
  html`<p>This is an error of the gateway. Try again. If it fails again, tell the operator of this gateway.</p>`,
);
