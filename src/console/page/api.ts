/** Asks the gateway. Every answer is JSON; a refusal becomes an ApiError with the gateway's own words. */
import { useEffect, useState } from 'preact/hooks';

export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const BASE = '/console/api';

export type Query = Readonly<Record<string, string | number | undefined>>;

export function get<T>(path: string, query: Query = {}): Promise<T> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return answered<T>(fetch(`${BASE}${path}${search === '' ? '' : `?${search}`}`));
}

export function post<T>(path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return answered<T>(fetch(`${BASE}${path}`, { method: 'POST', headers, body: JSON.stringify(body) }));
}

async function answered<T>(asking: Promise<Response>): Promise<T> {
  const response = await asking.catch(() => {
    throw new ApiError(0, 'The gateway does not answer');
  });
  // The session has ended: the page shows how to sign in.
  if (response.status === 401) window.location.reload();
  const body = await response.json().catch(() => ({}));
  if (!response.ok)
    throw new ApiError(response.status, body.error?.message ?? `The gateway answered ${response.status}`);
  return body as T;
}

export interface Asked<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  again(): void;
}

/** Asks now and every `everyMs`, while the page is visible. Another question begins anew. */
export function useFacts<T>(path: string, query: Query = {}, everyMs?: number): Asked<T> {
  const [state, setState] = useState<Pick<Asked<T>, 'value' | 'error'>>({ value: undefined, error: undefined });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([path, query]);
  useEffect(() => {
    let isOver = false;
    let timer: number | undefined;
    const ask = async () => {
      if (!document.hidden) {
        const found = await get<T>(path, query).then(
          (value) => ({ value, error: undefined }),
          (error: Error) => ({ error: error.message }),
        );
        if (isOver) return;
        setState((before) => ({ ...before, ...found }));
      }
      if (everyMs !== undefined) timer = window.setTimeout(ask, everyMs);
    };
    void ask();
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [key, everyMs, turn]);
  return { ...state, again: () => setTurn(turn + 1) };
}
