/** Our client at an authorization server. */
import * as z from 'zod';
import type { BackendAuth } from './settings.ts';

export const authMethods = ['client_secret_basic', 'client_secret_post', 'none'] as const;

/** RFC 6749, appendix A.1 and A.2. */
const visible = z
  .string()
  .max(4096)
  .regex(/^[\x20-\x7e]+$/);

/**
 * As stored with a flow and with tokens, which only this client can use. A configured client is stored by its id alone,
 * so that a changed secret in the config applies to existing tokens too.
 */
export const clientShape = z.object({
  kind: z.enum(['configured', 'document', 'registered']),
  id: visible,
  secret: visible.optional(),
  method: z.enum(authMethods).optional(),
});

export type OAuthClient = z.infer<typeof clientShape>;

/** Whether we can still refresh the tokens of this client: the config may name a different client by now. */
export function isCurrent(client: OAuthClient, { clientId }: BackendAuth): boolean {
  return client.kind === 'configured' ? client.id === clientId : clientId === undefined;
}

/** The client's secrets, which must not appear in logs and errors. */
export function secretsOf({ secret }: OAuthClient, { clientSecret, privateKey }: BackendAuth): readonly string[] {
  return [secret, clientSecret, privateKey].filter((text) => text !== undefined);
}
