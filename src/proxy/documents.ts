/**
 * Relays the documents with which a client finds a backend's authorization server (RFC 9728, RFC 8414). They are
 * public, so no credential goes with the request.
 */
import { Failure } from '../errors/failure.ts';
import { GuardedFetch } from '../oauth/client/guarded-fetch.ts';
import type { TrustedFetch } from '../oauth/client/ports.ts';
import type { WallClock } from '../observe/ports.ts';

/** For all clients. More are refused rather than queued: a client asks for two of them, once. */
const AT_ONCE = 16;

/** Without encoded characters: a server may take `%2f` for a slash, and serve another path. */
const documents = /^\/\.well-known\/(?:oauth-protected-resource|oauth-authorization-server)(?:\/[\w.~/-]*)?$/;

export function isDocument(method: string | undefined, path: string): boolean {
  return method === 'GET' && documents.test(path);
}

export class DocumentRelay {
  readonly #ports: { readonly trusted: TrustedFetch; readonly time: WallClock };
  #running = 0;

  constructor(ports: { readonly trusted: TrustedFetch; readonly time: WallClock }) {
    this.#ports = ports;
  }

  /** Undefined where the host has no such document. Rejects with a Failure. */
  async read(backendUrl: string, path: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    if (this.#running >= AT_ONCE) throw new Failure('backend_busy', { message: 'Too many documents are being read' });
    this.#running += 1;
    try {
      const outward = () => Promise.reject(new Error('only the host of the backend is asked'));
      const guarded = new GuardedFetch({ url: backendUrl }, { ...this.#ports, outward });
      return await guarded.firstDocument([`${new URL(backendUrl).origin}${path}`]);
    } finally {
      this.#running -= 1;
    }
  }
}
