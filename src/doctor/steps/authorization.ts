/** From a 401 to a token. Nothing is registered and no page is opened unless the user asked for it. */
import { challengeIn } from '../../oauth/client/challenge.ts';
import { scopesToAsk } from '../../oauth/client/scopes.ts';
import { authorizationRequest, type CodeRequest, codeIn, redeem, registerClient } from '../authorization/flow.ts';
import { LoopbackRedirect } from '../authorization/loopback.ts';
import { type Fetching, readResourceMetadata, readServerMetadata } from '../authorization/metadata.ts';
import { type DoctorStep, failed, ok, skipped, type Visit } from '../visit.ts';

const open = skipped('the server demands no credentials');

export const challengeStep: DoctorStep = {
  name: 'challenge',
  async run(visit) {
    const { refusal, options } = visit;
    if (refusal === undefined) return open;
    const { status = 0, headers = {} } = refusal.http ?? {};
    const header = headers['www-authenticate'];
    if (header !== undefined) visit.challenge = await challengeIn([header]);
    const hasCredentials = options.target.kind === 'http' && Object.keys(options.target.headers).length > 0;
    if (status === 403 || hasCredentials) {
      const error = visit.challenge?.error === undefined ? '' : `, ${visit.challenge.error}`;
      return failed({ finding: 'credentials_refused', detail: `HTTP ${status}${error}` }, refusal.bytes);
    }
    if (header === undefined) return failed({ finding: 'challenge_missing', detail: 'HTTP 401' }, refusal.bytes);
    if (!/\bbearer\b/i.test(header))
      return failed({ finding: 'challenge_missing', detail: 'the challenge is not for Bearer tokens' }, refusal.bytes);
    const { resourceMetadata = 'not named', scopes = [] } = visit.challenge ?? {};
    return ok(`metadata: ${resourceMetadata}${scopes.length === 0 ? '' : `, scopes: ${scopes.join(' ')}`}`);
  },
};

export const resourceStep: DoctorStep = {
  name: 'resource metadata',
  async run(visit) {
    const { target } = visit.options;
    if (visit.refusal === undefined || target.kind === 'stdio') return open;
    const read = await readResourceMetadata(target.url, visit.challenge?.resourceMetadata, fetching(visit));
    if (read.fault !== undefined) return failed(read.fault, read.bytes);
    visit.resource = read.facts;
    return ok(`${read.facts.from}: ${read.facts.resource}, authorization server ${read.facts.issuers[0]}`);
  },
};

export const serverStep: DoctorStep = {
  name: 'server metadata',
  async run(visit) {
    if (visit.refusal === undefined) return open;
    const issuer = visit.resource?.issuers[0];
    if (issuer === undefined) return skipped('no authorization server is known');
    const read = await readServerMetadata(issuer, fetching(visit));
    if (read.fault !== undefined) return failed(read.fault, read.bytes);
    visit.server = read.facts;
    return ok(`${read.facts.from}: authorization, token and PKCE (S256)`);
  },
};

export const registrationStep: DoctorStep = {
  name: 'registration',
  async run(visit) {
    const { server, options } = visit;
    if (visit.refusal === undefined) return open;
    if (server === undefined) return skipped('no authorization server is known');
    if (options.clientId !== undefined) {
      visit.client = { id: options.clientId };
      return ok('the client id is given (--client-id)');
    }
    const { takesDocuments, registrationEndpoint } = server;
    if (registrationEndpoint === undefined && !takesDocuments) {
      const detail = 'neither client ID metadata documents nor dynamic registration';
      return failed({ finding: 'no_registration', detail });
    }
    const ways = [
      ...(takesDocuments ? ['client ID metadata documents'] : []),
      ...(registrationEndpoint === undefined ? [] : [`dynamic registration at ${registrationEndpoint}`]),
    ].join(', ');
    if (!options.register) return ok(`${ways}; not done without --register`);
    if (registrationEndpoint === undefined) return skipped(`${ways} alone: host one, and name it with --client-id`);
    if (options.login) visit.loopback ??= await LoopbackRedirect.open();
    const read = await registerClient(registrationEndpoint, visit.loopback?.uri, fetching(visit));
    if (read.fault !== undefined) return failed(read.fault, read.bytes);
    visit.client = read.facts;
    return ok(`registered as ${read.facts.id}`);
  },
};

export const authorizeStep: DoctorStep = {
  name: 'authorize',
  async run(visit) {
    const { server, options } = visit;
    if (visit.refusal === undefined) return open;
    if (server === undefined) return skipped('no authorization server is known');
    if (options.login && visit.client !== undefined) visit.loopback ??= await LoopbackRedirect.open();
    const request = requestOf(visit);
    if (request === undefined) return skipped('no client id: use --register or --client-id');
    if (!options.login) return ok(`not opened without --login: ${request.url}`);
    options.openPage(request.url);
    const redirect = await visit.loopback?.arrived;
    if (redirect === undefined)
      return failed({ finding: 'authorize_refused', detail: 'no redirect came within 5 minutes' });
    const code = codeIn(redirect, request, server);
    if ('finding' in code) return failed(code);
    visit.granted = code;
    return ok('a code came back');
  },
};

function requestOf({ server, client, resource, challenge, loopback }: Visit): CodeRequest | undefined {
  if (server === undefined || client === undefined || resource === undefined) return undefined;
  const scopes = scopesToAsk({ challenged: challenge?.scopes, resource: resource.scopes });
  return authorizationRequest({
    ...{ server, clientId: client.id, resource: resource.resource, scopes },
    redirectUri: loopback?.uri,
  });
}

export const tokenStep: DoctorStep = {
  name: 'token',
  async run(visit) {
    const { server, client, granted, resource } = visit;
    if (visit.refusal === undefined) return open;
    if (server === undefined || client === undefined || granted === undefined || resource === undefined)
      return skipped('there is no code: use --login');
    const read = await redeem({ server, client, granted, resource: resource.resource }, fetching(visit));
    if (read.fault !== undefined) return failed(read.fault, read.bytes);
    visit.token = read.facts;
    return ok('a Bearer token was issued');
  },
};

function fetching({ options, secrets }: Visit): Fetching {
  return { timeoutMs: options.timeoutMs, secrets };
}
