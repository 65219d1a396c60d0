/** Small parts that several pages use. */
import { html } from 'htm/preact';
import type { ComponentChildren, VNode } from 'preact';

/** The colour only repeats what the word says. */
const tones: Readonly<Record<string, string>> = {
  ready: 'good',
  ok: 'good',
  read: 'good',
  shown: 'good',
  connected: 'good',
  allow: 'good',
  personal: 'good',
  down: 'bad',
  failing: 'bad',
  error: 'bad',
  'tool-error': 'bad',
  denied: 'warn',
  deny: 'warn',
  hidden: 'warn',
  refused: 'warn',
  withheld: 'warn',
  pending: 'warn',
  approval: 'warn',
};

export function Badge({ state }: { readonly state: string }): VNode {
  return html`<span class="badge ${tones[state] ?? 'soft'}">${state}</span>` as VNode;
}

export function Era({ era, revision }: { readonly era?: string | undefined; readonly revision?: string | undefined }) {
  if (revision === undefined && era === undefined) return html`<span class="soft">unknown</span>`;
  return html`<span class="era ${era ?? ''}">${revision ?? era}</span>`;
}

/** `state`: what is there instead of the table. */
export function Trouble({ error }: { readonly error: string | undefined }) {
  return error === undefined ? null : html`<p class="trouble" role="alert">${error}</p>`;
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly kind?: 'number' | 'col-act' | 'col-mono';
}

/** On a phone each row becomes a card, in which every value has its title. */
export function Table<Row>({
  caption,
  columns,
  rows,
  empty,
  keyOf,
}: {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly empty: string;
  readonly keyOf: (row: Row) => string | number;
}) {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  return html`<div class="scroll"><table>
    <caption class="unseen">${caption}</caption>
    <thead><tr>${columns.map(({ title, kind }) => html`<th scope="col" class=${kind ?? ''}>${title}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row) =>
        html`<tr key=${keyOf(row)}>${columns.map(
          ({ title, cell, kind }) => html`<td class=${kind ?? ''} data-title=${title}>${cell(row)}</td>`,
        )}</tr>`,
    )}</tbody>
  </table></div>`;
}

export function Section({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return html`<section class="card"><header><h2>${title}</h2>${aside && html`<span class="soft">${aside}</span>`}</header>${children}</section>`;
}

/** Long texts scroll, by keyboard too. */
export function Pre({ label, text }: { readonly label: string; readonly text: string }) {
  return html`<pre tabindex="0" role="region" aria-label=${label}>${text}</pre>`;
}

export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  readonly onChange: (value: string) => void;
}) {
  const changed = (event: Event) => onChange((event.currentTarget as HTMLSelectElement).value);
  return html`<label class="field">${label}<select value=${value} onChange=${changed}>
    ${options.map((option) => html`<option value=${option.value}>${option.text}</option>`)}
  </select></label>`;
}

export function Text({
  label,
  value,
  onInput,
  placeholder,
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly placeholder?: string;
}) {
  const changed = (event: Event) => onInput((event.currentTarget as HTMLInputElement).value);
  return html`<label class="field">${label}<input value=${value} onInput=${changed} placeholder=${placeholder ?? ''} spellcheck=${false} autocapitalize="off" /></label>`;
}
