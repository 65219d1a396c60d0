/**
 * Expands `${VAR}` and `${VAR:-default}` in string values. The default also replaces an empty variable, as in a shell.
 * `$${` is a literal `${`. An unset variable is an error: an empty token would only fail much later. `${file:/path}` is
 * the trimmed content of a file, for secrets that are mounted as files.
 */

export interface Expansion {
  readonly text: string;
  readonly faults: readonly ExpansionFault[];
}

export interface ExpansionFault {
  /** As written, to find it in the file. */
  readonly written: string;
  readonly message: string;
  readonly expected: string;
}

export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Variables that editors define besides the environment (`${workspaceFolder}`). No environment variable can have
   * their names, or only editors' files use them.
   */
  readonly predefined: Readonly<Record<string, string | undefined>>;
  /** Undefined if the file does not exist; throws if it cannot be read. Absent: no files are available. */
  readonly readFile?: (path: string) => string | undefined;
}

const reference = /\$?\$\{([^}]*)(\}?)/g;
const variable = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;
/** Secrets are short; a longer file is the wrong one. */
const FILE_CHARS = 64 * 1024;
const forms = `\`\${NAME}\`, \`\${NAME:-default}\` or \`\${file:/path}\`; a literal \`\${\` is written \`$\${\``;

export function expand(text: string, variables: Variables): Expansion {
  if (!text.includes('${')) return { text, faults: [] };
  const faults: ExpansionFault[] = [];
  const expanded = text.replaceAll(reference, (written: string, inner: string, closing: string) => {
    if (written.startsWith('$$')) return written.slice(1);
    const resolved = resolve(inner, closing !== '', variables);
    if (typeof resolved === 'string') return resolved;
    faults.push({ written, ...resolved });
    return '';
  });
  return { text: expanded, faults };
}

type Unresolved = Omit<ExpansionFault, 'written'>;

function resolve(inner: string, closed: boolean, variables: Variables): string | Unresolved {
  if (!closed) return { message: `\`\${\` without \`}\``, expected: forms };
  if (Object.hasOwn(variables.predefined, inner)) {
    return variables.predefined[inner] ?? { message: `\`\${${inner}}\` is not known here`, expected: forms };
  }
  if (/^(input|command|config):/.test(inner)) {
    return {
      message: `\`\${${inner}}\` can be filled in only by an editor`,
      expected: `an environment variable instead, such as \`\${API_KEY}\``,
    };
  }
  if (inner.startsWith(FILE)) return fileText(inner.slice(FILE.length), variables.readFile);
  const match = variable.exec(inner);
  if (match === null) return { message: 'this is not a variable', expected: forms };
  const name = match[1]!;
  const fallback = match[2];
  if (fallback?.includes('${')) {
    return { message: `the default of \`${name}\` contains a variable`, expected: 'a default of plain text' };
  }
  const value = Object.hasOwn(variables.env, name) ? variables.env[name] : undefined;
  if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
  if (value !== undefined) return value;
  return {
    message: `the environment variable \`${name}\` is not set`,
    expected: `the variable to be set, or a default: \`\${${name}:-...}\``,
  };
}

const FILE = 'file:';

/** The error does not contain any of the file's content. */
function fileText(path: string, readFile: Variables['readFile']): string | Unresolved {
  const expected = `a file that contains only the value, such as \`\${file:/run/secrets/api-key}\``;
  if (path === '' || readFile === undefined) return { message: 'no file is named here', expected };
  let text: string | undefined;
  try {
    text = readFile(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { message: `the file \`${path}\` cannot be read (${code})`, expected };
  }
  if (text === undefined) return { message: `there is no file \`${path}\``, expected };
  if (text.length > FILE_CHARS) return { message: `the file \`${path}\` is over 64 KiB`, expected };
  const trimmed = text.trim();
  return trimmed === '' ? { message: `the file \`${path}\` is empty`, expected } : trimmed;
}
