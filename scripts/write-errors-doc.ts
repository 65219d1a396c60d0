/** Writes docs/errors.md from the failure table; with --check, fails where the page is stale. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type FailureRow, failures } from '../src/errors/failure.ts';

const page = 'docs/errors.md';

function code({ legacy, modern }: FailureRow): string {
  return legacy === modern ? String(legacy) : `${legacy} legacy, ${modern} modern`;
}

const rows = Object.entries(failures).map(
  ([reason, row]) => `| \`${reason}\` | ${row.status} | ${code(row)} | ${row.blame} | ${row.message} | ${row.when} |`,
);

const text = `# Errors

Every failure that Bascule names, from \`src/errors/failure.ts\`. Match on \`error.data.reason\`: it is stable, the message is for people.
The HTTP status is the one of a POST whose headers have not gone out yet; inside a stream, over stdio and over HTTP+SSE only
the JSON-RPC error is sent. Status 200 means that the failure belongs to the exchange and not to the transport.

| reason | HTTP | JSON-RPC code | blame | message | when |
|---|---|---|---|---|---|
${rows.join('\n')}
`;

if (process.argv.includes('--check')) {
  if (readFileSync(page, 'utf8') !== text) {
    process.stderr.write(`${page} is stale: npm run docs:errors\n`);
    process.exitCode = 1;
  }
} else writeFileSync(page, text);
