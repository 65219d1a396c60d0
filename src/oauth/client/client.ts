/** Who we are to an authorization server. */
import * as z from 'zod';
import type { BackendAuth } from './settings.ts';

export const authMethods = ['client_secret_basic', 'client_secret_post', 'none'] as const;

/** RFC 6749, appendix A.1 and A.2. */
const visible = z
  .string()
  .max(4096)
  .regex(/^[\x20-\x7e]+$/);

/**
 * As it is kept with a flow and with tokens, which are of use to this client alone. What is configured is kept by its id:
 * a secret that was changed in the config is changed for tokens, too.
 */
export const clientShape = z.object({
  kind: z.enum(['configured', 'document', 'registered']),
  id: visible,
  secret: visible.optional(),
  method: z.enum(authMethods).optional(),
});

export type OAuthClient = z.infer<typeof clientShape>;

export function configuredClient({ clientId }: BackendAuth): OAuthClient | undefined {
  return clientId === undefined ? undefined : { kind: 'configured', id: clientId };
}

/** Whether tokens that it got are still ours to refresh: the config may name another one by now. */
export function isCurrent(client: OAuthClient, { clientId }: BackendAuth): boolean {
  return client.kind === 'configured' ? client.id === clientId : clientId === undefined;
}

/** What we present to be told from others, for logs and errors to be silent about. */
export function secretsOf({ secret }: OAuthClient, { clientSecret, privateKey }: BackendAuth): readonly string[] {
  return [secret, clientSecret, privateKey].filter((text) => text !== undefined);
}
