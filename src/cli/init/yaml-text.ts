/** The text of a first `bascule.yaml`. Lines that begin with `#` and no space are settings to uncomment. */
import { stringify } from 'yaml';
import type { InitialServer } from './servers.ts';

export function yamlText(servers: readonly InitialServer[], from: string | undefined): string {
  const source = from === undefined ? '' : ` Made from ${from} by \`bascule init\`.`;
  return `# Bascule: what is served, to whom, and how.${source}
# \`bascule config check\` says what it means; docs/configuration.md describes every setting.

# The MCP servers behind the gateway. \${NAME} is filled in from the environment, \${file:/path} from a file.
${backends(servers)}
# Where the gateway listens. Others can reach it only with \`identity\`, or with \`openToNetwork: true\`.
#listen:
#  host: 127.0.0.1
#  port: 8808

# Who may call. \`bascule key new <name>\` creates a key.
#identity:
#  keys: { file: keys.json }

# What callers may do. Without a policy, everything is allowed.
#policy:
#  rules:
#    - { id: all, effect: allow }
#    - { id: no-deletes, effect: deny, what: [call], on: { tools: ["*delete*"] } }

# A record of every decision.
#audit: { to: audit.jsonl }
`;
}

function backends(servers: readonly InitialServer[]): string {
  if (servers.length === 0)
    return `backends: {}
# Such as:
#backends:
#  files: { command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", /srv/data] }
#  search: { url: https://search.example/mcp, headers: { Authorization: "Bearer \${SEARCH_TOKEN}" } }
`;
  return `backends:\n${servers.map(backend).join('')}`;
}

function backend({ name, remarks, settings }: InitialServer): string {
  const text = stringify({ [name]: settings }, { lineWidth: 0, defaultStringType: 'PLAIN' });
  const comments = remarks.map((remark) => `# ${remark.replaceAll(/[\p{Cc}]/gu, ' ')}\n`);
  // Only line feeds end a line in YAML. With the flag `m`, other characters would, and a value with one would change.
  return [...comments, text].join('').replaceAll(/(^|\n)(?=[^\n])/g, '$1  ');
}
