/** Authorization, as a client without credentials meets it. */
import { challengeIn } from '../../../oauth/client/challenge.ts';
import {
  type DocumentRead,
  type Fetching,
  readResourceMetadata,
  readServerMetadata,
} from '../../authorization/metadata.ts';
import type { HttpPeer } from '../../peer/http.ts';
import type { PeerReply } from '../../peer/reply.ts';
import {
  all,
  broken,
  type CheckRow,
  type CheckVerdict,
  expectStatus,
  held,
  notApplicable,
  notTested,
} from '../check.ts';

interface StrangerOptions {
  /** Without the headers of the user. */
  readonly peer: HttpPeer;
  readonly fetching: Fetching;
}

/** A check of how a client without credentials is received. */
interface StrangerCheck extends CheckRow {
  run(stranger: Stranger): Promise<CheckVerdict>;
}

/** What a client without credentials is told. Each document is read once. */
export class Stranger {
  readonly #options: StrangerOptions;
  readonly refusal: PeerReply;
  #resource: ReturnType<typeof readResourceMetadata> | undefined;
  #server: ReturnType<typeof readServerMetadata> | undefined;

  /** Undefined where the server demands no credentials. */
  static async meet(options: StrangerOptions): Promise<Stranger | undefined> {
    const refusal = await options.peer.send('{"jsonrpc":"2.0","id":1,"method":"ping"}', { id: 1 });
    return refusal.http?.status === 401 ? new Stranger(options, refusal) : undefined;
  }

  private constructor(options: StrangerOptions, refusal: PeerReply) {
    this.#options = options;
    this.refusal = refusal;
  }

  get challenge(): string | undefined {
    return this.refusal.http?.headers['www-authenticate'];
  }

  async resource(): ReturnType<typeof readResourceMetadata> {
    const { peer, fetching } = this.#options;
    const { resourceMetadata } = this.challenge === undefined ? {} : await challengeIn([this.challenge]);
    this.#resource ??= readResourceMetadata(peer.url, resourceMetadata, fetching);
    return this.#resource;
  }

  /** Undefined where no authorization server is known. */
  async server(): Promise<Awaited<ReturnType<typeof readServerMetadata>> | undefined> {
    const { facts } = await this.resource();
    const issuer = facts?.issuers[0];
    if (issuer === undefined) return undefined;
    this.#server ??= readServerMetadata(issuer, this.#options.fetching);
    return this.#server;
  }

  send(headers: Readonly<Record<string, string>>): Promise<PeerReply> {
    return this.#options.peer.send('{"jsonrpc":"2.0","id":1,"method":"ping"}', { id: 1, headers });
  }
}

const discovery = '2026-07-28/basic/authorization/authorization-server-discovery';

export const authChecks: readonly StrangerCheck[] = [
  {
    id: 'hosting:auth:missing-401',
    behaviour: 'A 401 has a Bearer challenge in `WWW-Authenticate`.',
    spec: 'https://datatracker.ietf.org/doc/html/rfc9110#section-15.5.2',
    level: 'must',
    revisions: all,
    run: async ({ challenge, refusal }) =>
      challenge !== undefined && /\bbearer\b/i.test(challenge)
        ? held
        : broken(refusal, challenge === undefined ? 'there is no challenge' : 'the challenge is not for Bearer tokens'),
  },
  {
    id: 'hosting:auth:invalid-401',
    behaviour: 'A token that the server did not issue is refused with 401.',
    spec: '2026-07-28/basic/authorization#token-handling',
    level: 'must',
    revisions: all,
    run: async (stranger) => expectStatus(await stranger.send({ authorization: 'Bearer bascule-check' }), [401]),
  },
  {
    id: 'hosting:auth:metadata-endpoints',
    behaviour: 'Protected resource metadata is found through the challenge or at the well-known addresses.',
    spec: `${discovery}#protected-resource-metadata-discovery-requirements`,
    level: 'must',
    revisions: all,
    run: async (stranger) => blames(await stranger.resource(), ['resource_metadata_missing']),
  },
  {
    id: 'hosting:auth:metadata-endpoints#resource',
    behaviour: 'The `resource` in that metadata is this server.',
    spec: 'https://datatracker.ietf.org/doc/html/rfc9728#section-3.3',
    level: 'must',
    revisions: all,
    run: async (stranger) => blames(await stranger.resource(), ['other_resource']),
  },
  {
    id: 'hosting:auth:prm:authorization-servers-field',
    behaviour: 'The metadata names at least one authorization server.',
    spec: `${discovery}#authorization-server-location`,
    level: 'must',
    revisions: all,
    run: async (stranger) => blames(await stranger.resource(), ['resource_metadata_malformed']),
  },
  {
    id: 'hosting:auth:as-router',
    behaviour: 'The authorization server has metadata, with the endpoints that a client needs.',
    spec: `${discovery}#authorization-server-metadata-discovery`,
    level: 'must',
    revisions: all,
    run: async (stranger) => blames(await stranger.server(), ['server_metadata_missing', 'server_metadata_malformed']),
  },
  {
    id: 'hosting:auth:as-router#issuer',
    behaviour: 'The `issuer` in that metadata is identical to the one that was asked.',
    spec: 'https://datatracker.ietf.org/doc/html/rfc8414#section-3.3',
    level: 'must',
    revisions: all,
    run: async (stranger) => blames(await stranger.server(), ['other_issuer']),
  },
  {
    id: 'hosting:auth:as:authorize-requires-pkce',
    behaviour: 'The authorization server declares PKCE with S256.',
    spec: '2026-07-28/basic/authorization/security-considerations#authorization-code-protection',
    level: 'must',
    revisions: all,
    run: async (stranger) => blames(await stranger.server(), ['pkce_missing']),
  },
];

/** Broken for these findings. For others, the document could not be read as far as this check looks. */
function blames(read: DocumentRead<unknown> | undefined, findings: readonly string[]): CheckVerdict {
  if (read === undefined) return notTested('no authorization server is known');
  if (read.fault === undefined) return held;
  const { finding, detail } = read.fault;
  if (findings.includes(finding)) return { outcome: 'broken', found: detail, bytes: read.bytes };
  return finding === 'pkce_missing' ? held : notTested(`another check is broken: ${detail}`);
}

export const demandsNothing = notApplicable('the server demands no credentials');
