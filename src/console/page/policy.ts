/** The policy: its rules with how often they decided, and a form that tries a decision. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { post, useFacts } from './api.ts';
import type { Decision, Me, PolicyAnswer, RuleFacts } from './facts.ts';
import { age, count } from './format.ts';
import { Badge, Choice, Section, Table, Text, Trouble } from './parts.ts';

const modes: Readonly<Record<string, string>> = {
  enforce: 'What no rule allows is denied.',
  audit: 'Audit mode: nothing is denied, denials are only recorded.',
  none: 'There is no policy: everything is allowed.',
};

export function PolicyPage({ me }: { readonly me: Me }) {
  const { value, error } = useFacts<PolicyAnswer>('/policy', {}, 5_000);
  return html`<${Trouble} error=${error} />
    ${
      value &&
      html`<${Section} title="Rules" aside=${modes[value.mode]}>
      <${Table} caption="Rules" rows=${value.rules} columns=${columns(value.now)} keyOf=${(row: RuleFacts) => row.id} empty="There are no rules." />
      <p class="soft">Counted since the start, ${age(value.since, value.now)}.
        ${` Denied because no rule allows it: ${count(value.unmatched)}. `}
        ${value.open.length > 0 && `These actions need no rule: ${value.open.join(', ')}.`}</p>
    </${Section}>`
    }
    <${TryDecision} me=${me} />
    ${value && value.rates.length > 0 && html`<${Section} title="Rates"><ul>${value.rates.map(({ id, text }) => html`<li><code>${id}</code> ${text}</li>`)}</ul></${Section}>`}`;
}

function columns(now: number) {
  return [
    {
      title: 'Rule',
      cell: ({ id, mode }: RuleFacts) =>
        html`<code>${id}</code>${mode === 'audit' && html` <span class="soft">audit</span>`}`,
    },
    { title: 'Effect', cell: ({ effect }: RuleFacts) => html`<${Badge} state=${effect} />` },
    { title: 'Meaning', cell: ({ text }: RuleFacts) => text },
    {
      title: 'Decided',
      kind: 'number' as const,
      cell: ({ allowed, denied, wouldDeny }: RuleFacts) =>
        html`${count(allowed + denied)}${wouldDeny > 0 && html`<br /><span class="soft">would deny ${count(wouldDeny)}</span>`}`,
    },
    {
      title: 'Last',
      cell: ({ lastAt }: RuleFacts) =>
        lastAt === undefined ? html`<span class="soft">never</span>` : age(lastAt, now),
    },
  ];
}

/** The member of a question that names the thing, by action. */
const things: Readonly<Record<string, string>> = { call: 'tool', get: 'prompt', read: 'uri', subscribe: 'uri' };

function TryDecision({ me }: { readonly me: Me }) {
  const [asked, setAsked] = useState({ as: '', endpoint: me.endpoints[0] ?? '', action: 'call', name: '', args: '{}' });
  const [decision, setDecision] = useState<Decision | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const set = (key: keyof typeof asked) => (value: string) => setAsked({ ...asked, [key]: value });
  const send = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    const { as, endpoint, action, name, args } = asked;
    try {
      const question = {
        action,
        endpoint,
        [things[action] ?? 'tool']: name,
        ...(as && { as }),
        arguments: JSON.parse(args || '{}'),
      };
      setDecision(await post<Decision>('/policy/try', question));
    } catch (cause) {
      setDecision(undefined);
      setError(cause instanceof SyntaxError ? 'The arguments are not JSON' : (cause as Error).message);
    }
  };
  const people = [
    { value: '', text: `me (${me.who})` },
    ...me.people.filter(({ id }) => id !== me.id).map(({ id, who }) => ({ value: id, text: who })),
  ];
  return html`<${Section} title="Try a decision" aside="nothing is sent anywhere">
    <form class="fields" onSubmit=${send}>
      <${Choice} label="Who" value=${asked.as} options=${people} onChange=${set('as')} />
      <${Choice} label="Does" value=${asked.action} options=${Object.keys(things).map((value) => ({ value, text: `${value} ${things[value]}` }))} onChange=${set('action')} />
      <${Text} label="Name" value=${asked.name} onInput=${set('name')} />
      <${Choice} label="At" value=${asked.endpoint} options=${me.endpoints.map((path) => ({ value: path, text: path }))} onChange=${set('endpoint')} />
      <${Text} label="Arguments, as JSON" value=${asked.args} onInput=${set('args')} />
      <button>Decide</button>
    </form>
    <${Trouble} error=${error} />
    ${decision && html`<p role="status"><${Badge} state=${decision.decision} /> ${decision.why} <span class="soft">${decision.who} at ${decision.endpoint}${decision.backend ? `, backend ${decision.backend}` : ''}${decision.wouldDeny ? '; rules in audit mode would deny it' : ''}</span></p>`}
  </${Section}>`;
}
