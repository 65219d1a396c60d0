/** Describes a config for people. Values that may be secrets are counted, never shown. */
import type { EntryOverride } from '../catalog/overrides/settings.ts';
import type { BackendAuth } from '../oauth/client/settings.ts';
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import { explain, explainRate, explainWho } from '../policy/explain.ts';
import { proxyHostsOf } from '../proxy/hosts.ts';
import type { BackendConfig, Config, EndpointConfig, ServiceConfig } from './config.ts';
import { consoleRights, hasIdentity } from './console.ts';
import { defaultLimits, limitNames, limitRow } from './limits.ts';
import { printable } from './problems.ts';
import { writeQuantity } from './quantity.ts';
import { replicasPlace } from './replicas.ts';
import { describeSandbox } from './sandbox.ts';
import { parseUrl } from './shapes.ts';
import { storePlace } from './store.ts';

/** Longer path segments are mostly secrets. */
const longestShown = 16;

export function describeConfig(config: Config): string {
  const changed = limitNames.filter((name) => config.limits[name] !== defaultLimits[name]);
  const sections = [
    section('source', [config.source]),
    section('listening', listening(config)),
    section(`backends (${config.backends.length + config.services.length})`, [
      ...config.backends.flatMap(backend),
      ...config.services.map(service),
    ]),
    section(
      `endpoints (${config.endpoints.length})`,
      config.endpoints.flatMap((it) => endpoint(it, config)),
    ),
    section(
      'limits',
      changed.length === 0
        ? ['defaults']
        : changed.map((name) => `${name}: ${writeQuantity(config.limits[name], limitRow(name).unit)}`),
    ),
    ...authServer(config),
    section('policy', config.policy === undefined ? ['none: everything is allowed'] : explain(config.policy)),
    ...(config.rates.length === 0 ? [] : [section('rates', config.rates.map(explainRate))]),
    section('audit', audited(config)),
    ...(config.rehearsal === undefined
      ? []
      : [section('rehearsal', [`facts of requests in ${config.rehearsal.path}`])]),
    ...pinned(config),
    ...operated(config),
    ...proxied(config),
    ...traced(config),
    section('log', [logged(config)]),
    section('metrics', [measured(config)]),
    section('seal', sealing(config)),
    ...(config.store.url === undefined ? [] : [section('store', [storePlace(config.store)])]),
    ...(config.replicas === undefined ? [] : [section('replicas', [replicasPlace(config.replicas)])]),
  ];
  return sections.join('\n');
}

function section(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((line) => `  ${printable(line)}`)].join('\n');
}

function listening({ listen, endpoints }: Config): string[] {
  if (listen.socket !== undefined) {
    const { path, mode } = listen.socket;
    return [`unix:${path} (mode 0${mode.toString(8)})`, ...admitted(listen)];
  }
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  const asked = endpoints.every(({ identity }) => identity.kind === 'guarded');
  const others = asked ? 'open to the network' : 'open to the network, without authentication';
  const reach = isLoopbackHost(listen.host) ? 'this machine only' : others;
  const port = listen.port === 0 ? 'any free port' : String(listen.port);
  const { tls } = listen;
  const scheme = tls === undefined ? 'http' : 'https';
  const secured = tls === undefined ? [] : [`certificate ${tls.cert}, from ${tls.minVersion} on`];
  return [`${scheme}://${host}:${port} (${reach})`, ...secured, ...admitted(listen)];
}

function admitted(listen: Config['listen']): string[] {
  const lines: string[] = [];
  if (listen.allowedOrigins.length > 0) lines.push(`origins: ${listen.allowedOrigins.join(', ')}`);
  if (listen.allowedHosts.length > 0) lines.push(`hosts: ${listen.allowedHosts.join(', ')}`);
  return lines;
}

function authServer({ authServer: it, identity, store }: Config): string[] {
  if (it === undefined) return [];
  const clients = it.registration === 'open' ? 'clients register themselves' : 'clients do not register';
  const times = [it.tokenTtlMs, it.refreshTtlMs].map((ms) => writeQuantity(ms, 'ms'));
  const lines = [
    `issuer ${identity.publicUrl ?? 'the address that it listens on'}; ${it.company === undefined ? `users in ${it.userFile}` : `people sign in at ${it.company.issuer}`}`,
    `${clients}; access tokens for ${times[0]}, refresh tokens for ${times[1]}; state in ${storePlace(store)}`,
  ];
  return [section('authorization server', lines)];
}

function logged({ log: { level, format, requests } }: Config): string {
  return `level ${level}, format ${format}${requests ? ', a line for each request' : ''}`;
}

function measured({ metrics }: Config): string {
  if (metrics === undefined) return 'off';
  const { host, port } = metrics;
  const reach = isLoopbackHost(host) ? 'this machine only' : 'open to the network, without authentication';
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics (${reach})`;
}

function operated({ console: settings, operators, identity, authServer }: Config): string[] {
  if (settings === undefined) return [];
  const { listen, record } = settings;
  const where = listen === undefined ? '/console' : `http://${listen.host}:${listen.port}/console`;
  const rights = hasIdentity(identity, authServer !== undefined)
    ? consoleRights.flatMap((right) => {
        const who = operators[right];
        return who === undefined ? [] : [`${right}: ${explainWho(who)}`];
      })
    : ['for the person at this machine, with the link that is shown at start'];
  return [
    section('console', [
      `${where}; records ${record === 'bodies' ? 'calls with redacted bodies' : 'calls'}`,
      ...rights,
    ]),
  ];
}

function audited({ audit }: Config): string[] {
  if (audit === undefined) return ['none: no decision is recorded'];
  const { to, onFailure, arguments: recorded } = audit;
  const where =
    to.kind === 'file'
      ? `${to.path} (${writeQuantity(to.maxBytes, 'bytes')}, then ${to.keep} older files)`
      : `standard ${to.kind === 'stderr' ? 'error' : 'output'}`;
  const what = recorded === undefined ? 'no arguments' : `arguments of ${recorded.of.join(', ')}`;
  return [where, `${what}; requests that cannot be recorded are ${onFailure === 'deny' ? 'refused' : 'served'}`];
}

function pinned({ pins }: Config): string[] {
  if (pins === undefined) return [];
  const { file, mode, content } = pins;
  const state = 'problem' in content ? `${file}: ${content.problem}` : file;
  const what = mode === 'hold' ? 'what is not pinned is held' : 'what is not pinned passes, with a warning';
  return [section('pins', [state, what])];
}

function proxied(config: Config): string[] {
  const { proxy } = config;
  if (proxy === undefined) return [];
  const { host, port } = proxy.listen;
  const lines = [...proxyHostsOf(config).values()].map(({ authority, isTls, isTunnel }) => {
    if (isTunnel) return `${authority}: tunnel; what passes there is NOT seen, by no rule and no record`;
    return `${authority}: ${isTls ? 'decrypted, with the certificate authority of `bascule proxy ca`' : 'plain http'}`;
  });
  return [section('proxy', [`http://${host.includes(':') ? `[${host}]` : host}:${port}`, ...lines])];
}

function traced({ traces }: Config): string[] {
  if (traces === undefined) return [];
  const { url, headers, sampler, resource, baggage } = traces;
  const share = `${sampler.ratio * 100} % of traces${sampler.parentBased ? ', and those that a trusted parent samples' : ''}`;
  const lines = [
    `${[shownUrl(url), ...counted(headers, 'header')].join(', ')}; service ${resource['service.name']}; ${share}`,
    `baggage: ${baggage.length === 0 ? 'none' : baggage.join(', ')}`,
  ];
  return [section('traces', lines)];
}

function backend(it: BackendConfig): string[] {
  if (it.kind === 'http') {
    const how = it.transport === 'auto' ? 'transport is detected' : it.transport;
    const details = [how, ...counted(it.headers, 'header')].join(', ');
    return [`${it.name}: ${shownUrl(it.url)} (${details})`, ...(it.auth === undefined ? [] : [leave(it.auth)])];
  }
  const processes = it.share ? 'one process for all clients' : `a process for each session, at most ${it.maxProcesses}`;
  const details = [...counted(it.args, 'argument'), ...counted(it.env, 'environment variable'), processes];
  const where = `${it.cwd === undefined ? '' : ` in ${it.cwd}`}${it.user === undefined ? '' : ` as user ${it.user}`}`;
  const box = it.sandbox === undefined ? [] : [`  ${describeSandbox(it.sandbox)}`];
  return [`${it.name}: ${it.command}${where} (${details.join(', ')})`, ...box];
}

function leave({ grant, shared, implied, issuer, clientId, scopes = [], authorizationServers }: BackendAuth): string {
  const details = [
    `${grant}, ${shared ? 'one account for all' : 'an account for each caller'}`,
    ...(issuer === undefined ? [] : [`issuer ${shownUrl(issuer)}`]),
    ...(clientId === undefined ? [] : [`client ${clientId}`]),
    ...(scopes.length === 0 ? [] : [`scopes: ${scopes.join(' ')}`]),
    ...(authorizationServers === undefined ? [] : [`allowed internal servers: ${authorizationServers.join(' ')}`]),
  ];
  return `  OAuth${implied === true ? ' if the backend requires it' : ''}: ${details.join('; ')}`;
}

/** Values that clients hold only need this process; stored values must be readable after a restart. */
function sealing({ seal, store }: Config): string[] {
  if (seal.key !== undefined) return ['seal.key of the config'];
  return ['a random key of this process', `session ids and stored records: the key in ${store.dir}`];
}

function service({ name, url, headers }: ServiceConfig): string {
  return `${name}: ${shownUrl(url)} (${['JSON-RPC', ...counted(headers, 'header')].join(', ')})`;
}

function counted(things: object, what: string): string[] {
  const count = Object.keys(things).length;
  return count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`];
}

export function shownUrl(text: string): string {
  const url = parseUrl(text);
  if (url === undefined) return '...';
  const path = url.pathname.split('/').map((part) => (part.length > longestShown ? '...' : part));
  return `${url.origin}${path.join('/')}${url.search === '' ? '' : '?...'}`;
}

function guard({ identity }: EndpointConfig): string {
  if (identity.kind === 'open') return 'no authentication';
  const kinds = [...(identity.keys ? ['keys'] : []), ...(identity.tokens ? ['tokens'] : [])].join(' and ');
  const { required } = identity.scopes;
  return `${kinds}; scopes: ${required.length === 0 ? 'none' : required.join(' ')}; style: ${identity.style}`;
}

function extensions({ extensions: choices = {} }: EndpointConfig): string[] {
  const told = Object.entries(choices).map(([id, choice]) => `${id}: ${choice}`);
  return told.length === 0 ? [] : [`  extensions: ${told.join(', ')}`];
}

function endpoint(it: EndpointConfig, config: Config): string[] {
  const all = it.backends.length > 1 && it.backends.length === config.backends.length;
  const backends = all ? `all ${it.backends.length} backends` : it.backends.join(', ') || 'no backend';
  const { revisions, batches, accept } = it.profile;
  if (it.protocol === 'json-rpc')
    return [`${it.path}: ${backends}`, `  ${guard(it)}`, `  JSON-RPC; batches: ${batches}`];
  return [
    `${it.path}: ${backends}`,
    `  ${guard(it)}`,
    `  revisions ${revisions.join(', ')}; batches: ${batches}; accept: ${accept}; sessions: ${it.sessions}`,
    ...extensions(it),
    ...overridden(it),
    ...(it.budget === undefined
      ? []
      : [`  tools: listed in about ${it.budget.tokens} tokens; find_tools has the rest`]),
    ...it.deviations.map((deviation) => `  deviation: ${deviation}`),
  ];
}

function overridden({ overrides = [] }: EndpointConfig): readonly string[] {
  return overrides.flatMap(({ backend, tools, prompts }) =>
    Object.entries({ tool: tools, prompt: prompts }).flatMap(([kind, entries]) =>
      entries.map(
        (entry) => `  override: ${kind} ${entry.own} of ${backend}: ${changes(entry).join(', ') || 'no change'}`,
      ),
    ),
  );
}

/** Values of arguments may be secrets. */
function changes({ name, title, description, hide, arguments: given = [] }: EntryOverride): readonly string[] {
  if (hide === true) return ['hidden'];
  return [
    ...(name === undefined ? [] : [`named ${name}`]),
    ...(title === undefined ? [] : ['another title']),
    ...(description === undefined ? [] : ['another description']),
    ...given.map(({ argument, isFixed }) => `${argument} ${isFixed ? 'is fixed' : 'has a default'}`),
  ];
}
