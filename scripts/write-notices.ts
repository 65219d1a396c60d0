/** Writes THIRD-PARTY-NOTICES.md from what the bundle contains; with --check, fails where it is stale. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledComponents, type Component, licenseTexts } from './release/contents.ts';

const page = 'THIRD-PARTY-NOTICES.md';

const components = await bundledComponents();
/** Many packages have the same text word for word. */
const byText = new Map<string, Component[]>();
for (const component of components) {
  const text = licenseTexts(component).join('\n\n') || ownWords(component);
  byText.set(text, [...(byText.get(text) ?? []), component]);
}

/** The few packages that have no file with their license. */
function ownWords({ folder, license }: Component): string {
  const { author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const by = typeof author === 'object' ? author?.name : author;
  return `The package has no license text. Its package.json says: license ${license}${by ? `, author ${by}` : ''}.`;
}

const rows = components.map(({ name, version, license }) => `| ${name} | ${version} | ${license} |`);
const texts = [...byText].map(([text, those]) => {
  const title = those.map(({ name, version }) => `${name} ${version}`).join(', ');
  return `## ${title}\n\n\`\`\`\`text\n${text}\n\`\`\`\`\n`;
});
const fresh = `# Third-party notices

The files in \`dist\` contain code of these packages. \`npm run docs:notices\` writes this page from what the bundler says
is in them. Packages that are installed beside Bascule (\`lmdb\` and what it needs) bring their own licenses.

| package | version | license |
|---|---|---|
${rows.join('\n')}

${texts.join('\n')}`;

if (process.argv.includes('--check')) {
  if (!existsSync(page) || readFileSync(page, 'utf8') !== fresh) {
    process.stderr.write(`${page} is stale: npm run docs:notices\n`);
    process.exitCode = 1;
  }
} else writeFileSync(page, fresh);
