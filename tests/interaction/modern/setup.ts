/**
 * A backend behind a gateway that the cases of one table share, and the headers of requests with something wrong in
 * them.
 */
import type { Call, Headers } from '../harness/client.ts';
import { launchGateway, type TestGateway } from '../harness/gateway.ts';
import {
  launchModernBackend,
  type Script,
  type ScriptedBackend,
  type ScriptedOptions,
} from '../harness/http-backend.ts';

export interface Shared {
  readonly backend: ScriptedBackend;
  readonly gateway: TestGateway;
  readonly url: string;
  close(): Promise<void>;
}

/** The gateway has probed its backend already: later requests to the backend come from a test. The caller closes it. */
export async function launchBehind(
  script: Script,
  options: ScriptedOptions = {},
  launch = launchModernBackend,
): Promise<Shared> {
  const backend = await launch(script, options);
  const gateway = await launchGateway({ backends: { b: { url: backend.url } } });
  const url = gateway.url('b');
  await gateway.assembled.backends.get('b')?.discover();
  return {
    backend,
    gateway,
    url,
    close: async () => {
      await gateway.close();
      await backend.close();
    },
  };
}

/** `undefined` takes a header away. */
export function withHeaders(call: Call, changes: Readonly<Record<string, string | undefined>>): Call {
  const headers: Record<string, string> = { ...call.headers };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) delete headers[name];
    else headers[name] = value;
  }
  return { ...call, headers: headers satisfies Headers };
}

/** The form in which a name or a parameter travels that is no plain header value. */
export function sentinel(value: string | Uint8Array): string {
  return `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

export const mismatch = (header: string, what: string, id?: string | number) => ({
  code: -32020,
  message: `Header mismatch: ${header} ${what}`,
  reason: 'header_mismatch',
  data: { header },
  ...(id === undefined ? {} : { id }),
});

export const missing = 'is missing';
export const otherThanBody = 'differs from the body';
export const malformed = 'is not a valid header value';
