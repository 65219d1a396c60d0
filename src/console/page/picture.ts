/** Clients, endpoints and backends side by side, with a line wherever one leads to another. */
import { html } from 'htm/preact';
import type { BackendFacts, EndpointFacts, Overview, ShownClient } from './facts.ts';
import { age, rate } from './format.ts';
import { Badge, Era } from './parts.ts';

/** Of each column; the tables have all of them. */
const MOST = 10;
const ROW = 60;
const GAP = 56;

interface Link {
  readonly from: number;
  readonly to: number;
  readonly isBusy: boolean;
}

export function Picture({ overview }: { readonly overview: Overview }) {
  const { now } = overview;
  const clients = overview.clients.slice(0, MOST);
  const endpoints = overview.endpoints.slice(0, MOST);
  const backends = overview.backends.slice(0, MOST);
  const rows = Math.max(1, clients.length, endpoints.length, backends.length);
  const links = (
    from: readonly unknown[],
    isLinked: (from: number, to: number) => boolean,
    isBusy: (from: number, to: number) => boolean,
    to: readonly unknown[],
  ) =>
    from.flatMap((_, at) =>
      to.flatMap((__, other): Link[] =>
        isLinked(at, other) ? [{ from: at, to: other, isBusy: isBusy(at, other) }] : [],
      ),
    );
  const coming = links(
    clients,
    (at, other) => clients[at]!.endpoints.includes(endpoints[other]!.path),
    (_, other) => (endpoints[other]!.rate ?? 0) > 0,
    endpoints,
  );
  const going = links(
    endpoints,
    (at, other) => endpoints[at]!.backends.includes(backends[other]!.name),
    (at, other) => (endpoints[at]!.rate ?? 0) > 0 && (backends[other]!.rate ?? 0) > 0,
    backends,
  );
  return html`<div class="picture">
    <div class="column"><h3>Clients</h3><ul>${
      clients.length === 0
        ? html`<li class="node none">No client came yet</li>`
        : clients.map((one) => html`<${Client} one=${one} now=${now} />`)
    }</ul>${more(overview.clients.length)}</div>
    <${Links} links=${coming} rows=${rows} />
    <div class="column"><h3>Endpoints</h3><ul>${endpoints.map((one) => html`<${Endpoint} one=${one} />`)}</ul>${more(overview.endpoints.length)}</div>
    <${Links} links=${going} rows=${rows} />
    <div class="column"><h3>Backends</h3><ul>${backends.map((one) => html`<${Backend} one=${one} now=${now} />`)}</ul>${more(overview.backends.length)}</div>
  </div>`;
}

function more(all: number) {
  return all > MOST ? html`<p class="soft">and ${all - MOST} more</p>` : null;
}

function Client({ one, now }: { readonly one: ShownClient; readonly now: number }) {
  return html`<li class="node"><span class="title">${one.client ?? 'without a name'}</span>
    <span class="soft"><${Era} era=${one.era} revision=${one.revision} /> ${age(one.lastAt, now)}</span></li>`;
}

function Endpoint({ one }: { readonly one: EndpointFacts }) {
  return html`<li class="node"><span class="title">${one.path}</span>
    <span class="soft">${rate(one.rate)}${(one.inFlight ?? 0) > 0 ? `, ${one.inFlight} in flight` : ''}</span></li>`;
}

function Backend({ one, now }: { readonly one: BackendFacts; readonly now: number }) {
  return html`<li class="node"><span class="title">${one.name} <${Badge} state=${one.state} /></span>
    <span class="soft">${one.state === 'off' ? 'by the config' : html`${rate(one.rate)} · ${one.source ?? 'unknown'} ${age(one.at, now)}`}</span></li>`;
}

function Links({ links, rows }: { readonly links: readonly Link[]; readonly rows: number }) {
  const y = (row: number) => row * ROW + ROW / 2;
  return html`<svg class="links" width=${GAP} height=${rows * ROW} viewBox="0 0 ${GAP} ${rows * ROW}" aria-hidden="true">
    ${links.map(
      ({ from, to, isBusy }) =>
        html`<path class=${isBusy ? 'busy' : ''} d="M0 ${y(from)}C${GAP / 2} ${y(from)} ${GAP / 2} ${y(to)} ${GAP} ${y(to)}" />`,
    )}
  </svg>`;
}
