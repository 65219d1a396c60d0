/** People and sessions: who came, with which client and revision, and what they are connected to. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { post, useFacts } from './api.ts';
import type { Me, OnePerson, People, PersonFacts, ShownAccount, ShownSession } from './facts.ts';
import { age, count, span } from './format.ts';
import { Badge, Era, Section, Table, Trouble } from './parts.ts';

export function PeoplePage({ me }: { readonly me: Me }) {
  const { value, error, again } = useFacts<People>('/people', {}, 5_000);
  const [failed, setFailed] = useState<string | undefined>(undefined);
  const [chosen, choose] = useState<PersonFacts | undefined>(undefined);
  const mayRevoke = me.rights.includes('revoke');
  const end = async (what: object, question: string) => {
    if (!window.confirm(question)) return;
    setFailed(undefined);
    await post('/sessions/revoke', what).catch((cause: Error) => setFailed(cause.message));
    again();
  };
  const endAll = ({ id, who, sessions: open }: PersonFacts) =>
    end({ person: id }, `End all ${open} sessions of ${who}, and their open streams?`);
  if (value === undefined) return html`<${Trouble} error=${error} />`;
  const { now, people, sessions } = value;
  return html`<${Trouble} error=${failed ?? error} />
    <${Section} title="People" aside=${`${count(value.total)} came since the start`}>
      <${Table} caption="People" rows=${people} keyOf=${(row: PersonFacts) => row.id} empty="No request came yet." columns=${[
        {
          title: 'Who',
          cell: ({ who, issuer, kind }: PersonFacts) =>
            html`<strong>${who}</strong><br /><span class="soft">${issuer ?? kind}</span>`,
        },
        {
          title: 'Clients',
          cell: ({ uses }: PersonFacts) =>
            uses.map(
              ({ client, revision, endpoint }) =>
                html`<div>${client ?? 'without a name'} <${Era} revision=${revision} era=${undefined} /> <span class="soft">${endpoint}</span></div>`,
            ),
        },
        { title: 'Last seen', cell: ({ lastAt }: PersonFacts) => age(lastAt, now) },
        { title: 'Calls', kind: 'number', cell: ({ calls }: PersonFacts) => count(calls) },
        { title: 'Sessions', kind: 'number', cell: ({ sessions: open }: PersonFacts) => count(open) },
        {
          title: 'Act',
          cell: (person: PersonFacts) => html`<div class="acts">
            <button type="button" class="small quiet" aria-label=${`Accounts of ${person.who}`} onClick=${() => choose(person)}>Accounts</button>
            ${
              mayRevoke &&
              html`<button type="button" class="small quiet" aria-label=${`End sessions and streams of ${person.who}`}
                onClick=${() => endAll(person)}>End sessions</button>`
            }
          </div>`,
        },
      ]} />
    </${Section}>
    ${chosen && html`<${Accounts} person=${chosen} close=${() => choose(undefined)} />`}
    <${Section} title="Sessions" aside=${`${count(sessions.total)} open; clients of 2026-07-28 have none`}>
      <${Table} caption="Open sessions" rows=${sessions.shown} keyOf=${(row: ShownSession) => row.id} empty="No session is open." columns=${[
        { title: 'Who', cell: ({ who, id }: ShownSession) => html`${who}<br /><code class="soft">${id}</code>` },
        {
          title: 'Client',
          cell: ({ client, revision }: ShownSession) =>
            html`${client ?? 'without a name'}<br /><${Era} era="legacy" revision=${revision} />`,
        },
        { title: 'Endpoint', cell: ({ endpoint }: ShownSession) => html`<span class="mono">${endpoint}</span>` },
        {
          title: 'Connected to',
          cell: ({ backends }: ShownSession) =>
            backends.map(
              ({ backend, state }) =>
                html`<div>${backend}${state === 'open' ? '' : html` <span class="soft">${state}</span>`}</div>`,
            ),
        },
        {
          title: 'Open for',
          cell: ({ openedAt, lastAt }: ShownSession) =>
            html`${span(openedAt, now)}<br /><span class="soft">used ${age(lastAt, now)}</span>`,
        },
        ...(mayRevoke
          ? [
              {
                title: 'Act',
                cell: ({ id, who }: ShownSession) =>
                  html`<button type="button" class="small quiet" aria-label=${`End session ${id}`} onClick=${() => end({ session: id }, `End this session of ${who}?`)}>End</button>`,
              },
            ]
          : []),
      ]} />
    </${Section}>`;
}

function Accounts({ person, close }: { readonly person: PersonFacts; readonly close: () => void }) {
  const { value, error } = useFacts<OnePerson>('/person', { id: person.id });
  return html`<${Section} title=${`Accounts of ${person.who} at backends`} aside=${html`<button type="button" class="small quiet" onClick=${close}>Close</button>`}>
    <${Trouble} error=${error} />
    ${
      value &&
      html`<${Table} caption="Accounts" rows=${value.accounts} keyOf=${(row: ShownAccount) => row.backend} empty="No backend wants an account of a person." columns=${[
        {
          title: 'Backend',
          cell: ({ backend, shared }: ShownAccount) =>
            html`<strong>${backend}</strong>${shared && html` <span class="soft">one account for all</span>`}`,
        },
        { title: 'Consent', cell: ({ state }: ShownAccount) => html`<${Badge} state=${state} />` },
        { title: 'Since', cell: ({ since }: ShownAccount) => (since === undefined ? '' : age(since, value.now)) },
        { title: 'Scopes', cell: ({ scopes = [] }: ShownAccount) => scopes.join(' ') },
      ]} />`
    }
  </${Section}>`;
}
