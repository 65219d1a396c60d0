/** Files that `bascule link` must not change, because it could not give them back as they were. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LinkError } from '../../src/cli/link/entry-file.ts';
import { jsonFormat } from '../../src/cli/link/json-entry.ts';
import { link, unlink } from '../../src/cli/link/link.ts';
import { verifies } from '../requirements/verifies.ts';

const place = { container: 'mcpServers', name: 'bascule' };
const entry = { type: 'http', url: 'http://127.0.0.1:8808/mcp' };

function fileWith(bytes: string | Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-linked-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'mcp.json');
  writeFileSync(file, bytes);
  return file;
}

it('a file in another encoding than UTF-8 stays as it is', verifies('gateway:link:refusals'), () => {
  const bytes = Buffer.from('{"note":"caf\u00e9","mcpServers":{}}', 'latin1');
  const file = fileWith(bytes);
  expect(() => link({ file, format: jsonFormat, place }, entry)).toThrow(/not in UTF-8/);
  expect(readFileSync(file)).toEqual(bytes);
});

it.each([
  { name: 'a folder', make: (copy: string) => void mkdirSync(copy) },
  { name: 'a device', make: (copy: string) => symlinkSync('/dev/zero', copy) },
])('$name in the place of the copy is refused, and not read', verifies('gateway:link:refusals'), ({ make }) => {
  const file = fileWith('{"mcpServers":{"bascule":{"url":"https://other.example/mcp"}}}');
  make(`${file}.before-bascule`);
  expect(() => unlink({ file, format: jsonFormat, place })).toThrow(LinkError);
});
