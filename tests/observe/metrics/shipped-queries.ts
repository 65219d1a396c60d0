/** The queries of the shipped dashboard and alert rules. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

interface Dashboard {
  readonly uid: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly datasource?: { readonly uid: string };
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

interface AlertRules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

const folder = new URL('../../../docs/observability/', import.meta.url);

export const alertsFile = new URL('alerts.yaml', folder);

export const dashboard: Dashboard = JSON.parse(readFileSync(new URL('dashboard.json', folder), 'utf8'));

export interface ShippedQuery {
  readonly name: string;
  readonly expr: string;
  readonly legend: string;
}

export const panelQueries: readonly ShippedQuery[] = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({ name: title, expr, legend: legendFormat })),
);

export const alertQueries: readonly ShippedQuery[] = (
  parse(readFileSync(alertsFile, 'utf8')) as AlertRules
).groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ name: alert, expr, legend: '' })));
