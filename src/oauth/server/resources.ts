/**
 * The resources that tokens can be issued for: the gateway's own endpoints, each by itself (RFC 8707).
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#resource-parameter-implementation
 */
import { canonicalAudience } from '../../identity/audience.ts';
import type { Resource } from './settings.ts';

export class Resources {
  readonly #byAddress = new Map<string, Resource>();
  /** The default: older revisions have no `resource` parameter. */
  readonly usual: string | undefined;

  constructor(resources: readonly Resource[]) {
    for (const resource of resources) {
      for (const address of resource.addresses) {
        const canonical = canonicalAudience(address);
        if (canonical !== undefined && !this.#byAddress.has(canonical)) this.#byAddress.set(canonical, resource);
      }
    }
    this.usual = resources[0]?.addresses[0];
  }

  find(address: unknown): { readonly resource: Resource; readonly audience: string } | undefined {
    const audience = typeof address === 'string' ? canonicalAudience(address) : undefined;
    const resource = audience === undefined ? undefined : this.#byAddress.get(audience);
    return resource === undefined || audience === undefined ? undefined : { resource, audience };
  }
}
