/**
 * Values in the settings of a server that look like secrets. A guess, by their names and forms: a value that is a
 * variable already is none.
 */
import type { InitialServer } from './servers.ts';
import { variableName } from './servers.ts';

export interface FoundSecret {
  /** For people: which setting of which server. */
  readonly where: string;
  readonly variable: string;
  readonly value: string;
}

export interface SecretlessServers {
  /** With a variable in the place of each secret. */
  readonly servers: readonly InitialServer[];
  readonly secrets: readonly FoundSecret[];
}

const secretName = /key|token|secret|passw|credential|authorization|cookie|\bpat\b|_pat$/i;
/** Forms that providers give their keys, so that scanners find them. */
const secretForm = /^(?:sk|pk|ghp|gho|github_pat|glpat|xox[abp]|bsc|AKIA|eyJ)[-_A-Za-z0-9]{12,}/;

export function withoutSecrets(servers: readonly InitialServer[]): SecretlessServers {
  const secrets: FoundSecret[] = [];
  const replaced = servers.map((server) => {
    const taken = (path: readonly string[], value: string) => {
      const variable = unused(variableName([server.name, path.at(-1) ?? ''].join('_')), secrets);
      secrets.push({ where: `backends.${server.name}.${path.join('.')}`, variable, value });
      return `\${${variable}}`;
    };
    return { ...server, settings: visit(server.settings, [], taken) as InitialServer['settings'] };
  });
  return { servers: replaced, secrets };
}

function unused(wanted: string, secrets: readonly FoundSecret[]): string {
  let variable = wanted;
  for (let count = 2; secrets.some((secret) => secret.variable === variable); count += 1)
    variable = `${wanted}_${count}`;
  return variable;
}

type Taken = (path: readonly string[], value: string) => string;

function visit(value: unknown, path: readonly string[], taken: Taken): unknown {
  if (Array.isArray(value)) return value.map((item, at) => argument(item, value[at - 1], [...path, String(at)], taken));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, visit(member, [...path, key], taken)]),
    );
  if (typeof value !== 'string' || value.includes('${')) return value;
  const [section, name = ''] = path;
  if ((section === 'env' || section === 'headers') && (secretName.test(name) || secretForm.test(value))) {
    // The scheme stays, so that the variable has the credential alone.
    const [, scheme = '', rest = value] = /^((?:Bearer|Basic|Token) )(.+)$/i.exec(value) ?? [];
    return `${scheme}${taken(path, rest)}`;
  }
  if (section === 'url' && /[?&][^=&]*(?:key|token|secret|sig)[^=&]*=[^&]/i.test(value)) return taken(path, value);
  return value;
}

/** `--api-key=value`, or `--api-key` and its value. */
function argument(item: unknown, before: unknown, path: readonly string[], taken: Taken): unknown {
  if (typeof item !== 'string' || item.includes('${')) return item;
  const [, option, value] = /^(--?[\w-]+=)(.+)$/s.exec(item) ?? [];
  if (option !== undefined && value !== undefined && secretName.test(option))
    return `${option}${taken([...path, option.replaceAll(/[-=]/g, '_')], value)}`;
  const isNamed = typeof before === 'string' && /^--?[\w-]+$/.test(before) && secretName.test(before);
  if (isNamed && !item.startsWith('-')) return taken([...path, String(before)], item);
  return secretForm.test(item) ? taken(path, item) : item;
}
