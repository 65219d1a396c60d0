/** Writes the catalogue for people: `docs/requirements.md`, and the table that the gate prints. */

import { familyOf } from './families.ts';
import type { Tally } from './gate.ts';
import { tally } from './gate.ts';
import type { Catalogue, Requirement, Source, StatusKind } from './requirement.ts';
import { pieces, statusKinds } from './requirement.ts';

const specification = 'https://modelcontextprotocol.io/specification/';

export function specUrl(source: Source): string | undefined {
  return source === 'sdk' || source === 'gateway' ? undefined : specification + source;
}

interface Entry {
  readonly id: string;
  readonly requirement: Requirement;
}

export function document(catalogue: Catalogue): string {
  const entries = Object.entries(catalogue).map(([id, requirement]) => ({ id, requirement }));
  return `${[intro, summary(catalogue), divergences(entries), deferrals(entries), holdings(entries), exclusions(entries)].join('\n\n')}\n`;
}

const intro = `# Requirements

<!-- Generated from tests/requirements by scripts/check-requirements.ts --write. Do not edit. -->

What the specification, the suites of the official SDKs and our own rules ask of Bascule, and where it stands.

- **held**: it does so, and at least one test that ran and passed proves it.
- **divergent**: it does otherwise on purpose, for the reason given; a test pins what it does instead.
- **deferred**: it does not do so yet; the named piece of work brings it.
- **not applicable**: it is asked of clients or servers, and a gateway can neither keep nor break it.

An id links to the section that asks for it. Ids without a link are those on which the specification is silent: \`gateway:\` are
rules of our own, the others are common to the suites of the official SDKs. Outside \`gateway:bridge\`, *held* speaks of a
client and a backend of the same era.`;

function summary(catalogue: Catalogue): string {
  const rows = tally(catalogue).map(({ family, counts }) => [family, ...statusKinds.map((kind) => counts[kind] || '')]);
  return `## Summary\n\n${table(['family', ...statusKinds], rows)}`;
}

function divergences(entries: readonly Entry[]): string {
  const rows = entries.flatMap(({ id, requirement }) =>
    requirement.status.kind === 'divergent'
      ? [[link(id, requirement), requirement.behaviour, requirement.status.reason]]
      : [],
  );
  return `## Divergent\n\n${table(['id', 'what is asked', 'why we do otherwise'], rows)}`;
}

function deferrals(entries: readonly Entry[]): string {
  const sections = Object.entries(pieces).flatMap(([piece, title]) => {
    const rows = entries
      .filter(({ requirement: { status } }) => status.kind === 'deferred' && status.to === piece)
      .map(plain);
    return rows.length === 0 ? [] : [`### ${title} (\`${piece}\`)\n\n${table(headings, rows)}`];
  });
  return ['## Deferred', ...sections].join('\n\n');
}

function holdings(entries: readonly Entry[]): string {
  const families = grouped(
    entries.filter(({ requirement }) => requirement.status.kind === 'held'),
    ({ id }) => familyOf(id),
  );
  return [
    '## Held',
    ...Array.from(families, ([family, held]) => `### ${family}\n\n${table(headings, held.map(plain))}`),
  ].join('\n\n');
}

function exclusions(entries: readonly Entry[]): string {
  const reasons = grouped(entries, ({ requirement: { status } }) =>
    status.kind === 'not-applicable' ? status.reason : undefined,
  );
  const sections = Array.from(
    reasons,
    ([reason, those]) =>
      `${reason}\n\n${table(
        ['id', 'what is asked'],
        those.map(({ id, requirement }) => [link(id, requirement), requirement.behaviour]),
      )}`,
  );
  return ['## Not applicable', ...sections].join('\n\n');
}

function grouped(entries: readonly Entry[], key: (entry: Entry) => string | undefined): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const name = key(entry);
    if (name === undefined) continue;
    const group = groups.get(name) ?? [];
    groups.set(name, group);
    group.push(entry);
  }
  return groups;
}

const headings = ['id', 'revisions', 'behaviour'];

function plain({ id, requirement }: Entry): string[] {
  const { revisions } = requirement;
  return [
    link(id, requirement),
    typeof revisions === 'string' ? revisions : revisions.join(', '),
    requirement.behaviour,
  ];
}

function link(id: string, { spec }: Requirement): string {
  const url = specUrl(spec);
  return url === undefined ? `\`${id}\`` : `[\`${id}\`](${url})`;
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  if (rows.length === 0) return 'None.';
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The same summary for a terminal. */
export function terminalTable(tallies: readonly Tally[]): string {
  const lines = [
    ['family', ...statusKinds, 'sum'],
    ...tallies.map(({ family, counts }) => [
      family,
      ...statusKinds.map((kind: StatusKind) => String(counts[kind] || '')),
      String(statusKinds.reduce((sum, kind) => sum + counts[kind], 0)),
    ]),
  ];
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
    .join('\n');
}
