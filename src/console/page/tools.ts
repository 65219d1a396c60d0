/** The tools that a person sees at an endpoint, why others are missing, and a form to try one. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { useFacts } from './api.ts';
import type { ListFacts, Me, ToolFacts, Tools } from './facts.ts';
import { age } from './format.ts';
import { Badge, Choice, Section, Table, Text, Trouble } from './parts.ts';
import { TryTool } from './try-tool.ts';

export function ToolsPage({ me }: { readonly me: Me }) {
  const [endpoint, setEndpoint] = useState(me.endpoints[0] ?? '/mcp');
  const [as, setAs] = useState('');
  const [search, setSearch] = useState('');
  const [tried, setTried] = useState<ToolFacts | undefined>(undefined);
  const { value, error, again } = useFacts<Tools>('/tools', { endpoint, as });
  const people = [
    { value: '', text: `me (${me.who})` },
    ...me.people.filter(({ id }) => id !== me.id).map(({ id, who }) => ({ value: id, text: who })),
  ];
  const wanted = search.toLowerCase();
  const found =
    value?.tools.filter(({ name, description = '' }) => `${name} ${description}`.toLowerCase().includes(wanted)) ?? [];
  return html`${tried && html`<${TryTool} tool=${tried} endpoint=${endpoint} close=${() => setTried(undefined)} />`}
    <${Section} title="Tools" aside=${value && `${value.tools.filter(({ state }) => state === 'shown').length} shown, ${value.tools.filter(({ state }) => state === 'hidden').length} hidden`}>
      <div class="fields">
        <${Choice} label="As" value=${as} options=${people} onChange=${setAs} />
        <${Choice} label="At" value=${endpoint} options=${me.endpoints.map((path) => ({ value: path, text: path }))} onChange=${setEndpoint} />
        <${Text} label="Search" value=${search} onInput=${setSearch} />
        <button type="button" class="quiet" onClick=${again}>Ask again</button>
      </div>
      <${Trouble} error=${error} />
      ${value !== undefined && !value.admitted && html`<p class="trouble">${value.who} cannot enter this endpoint: it does not accept their credentials.</p>`}
      ${
        value &&
        html`<${Table} caption="Tools" rows=${found} columns=${columns(value.isOwn && me.canTry ? setTried : undefined)} keyOf=${(row: ToolFacts) => `${row.backend} ${row.name}`}
        empty=${search === '' ? 'No backend here has shown a tool: see below.' : 'No list has such a tool: see below which backends have not shown theirs.'} />`
      }
    </${Section}>
    ${
      value &&
      html`<${Section} title="Where they come from">
      <${Table} caption="Lists of backends" rows=${value.backends} columns=${listColumns(value.now)}
        keyOf=${(row: ListFacts) => row.backend} empty="No backend is behind this endpoint." />
      ${value.collisions.map(({ name, backends }) => html`<p class="trouble"><code>${name}</code> is a tool of ${backends.join(' and ')}: with <code>names: never</code> neither can be reached.</p>`)}
    </${Section}>`
    }`;
}

function columns(choose: ((tool: ToolFacts) => void) | undefined) {
  return [
    {
      title: 'Tool',
      cell: ({ name, title, description }: ToolFacts) =>
        html`<span class="mono">${name}</span>${title && ` ${title}`}${description && html`<p class="soft clamp">${description}</p>`}`,
    },
    {
      title: 'Backend',
      cell: ({ backend, own }: ToolFacts) =>
        html`${backend}${own && html`<br /><span class="soft mono">${own}</span>`}`,
    },
    {
      title: 'State',
      cell: ({ state, why }: ToolFacts) =>
        html`<${Badge} state=${state} />${why && html` <span class="soft">${why}</span>`}`,
    },
    ...(choose === undefined
      ? []
      : [
          {
            title: 'Act',
            cell: (tool: ToolFacts) =>
              html`<button type="button" class="small" aria-label=${`Try ${tool.name}`} onClick=${() => choose(tool)}>Try</button>`,
          },
        ]),
  ];
}

function listColumns(now: number) {
  return [
    { title: 'Backend', cell: ({ backend }: ListFacts) => html`<strong>${backend}</strong>` },
    {
      title: 'List',
      cell: ({ state, tools }: ListFacts) =>
        html`<${Badge} state=${state} />${tools === undefined ? '' : ` ${tools} tools`}`,
    },
    {
      title: 'Told',
      cell: ({ at, state }: ListFacts) =>
        at === undefined ? (state === 'off' ? 'by the config' : 'just now') : `asked ${age(at, now)}`,
    },
    {
      title: 'Why',
      cell: ({ message, cause, cure }: ListFacts) =>
        html`${message ?? ''}${cause && html`<br /><code>${cause}</code>`}${cure && html`<br /><em>${cure}</em>`}`,
    },
  ];
}
