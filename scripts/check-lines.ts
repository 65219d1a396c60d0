/**
 * No line of code or documentation is longer than 120 characters. Not counted are tables, lines with a URL, and the
 * content of strings, templates and regular expressions, which cannot be split. Generated pages are exempt.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const WIDTH = 120;
const generated = [
  'docs/errors.md',
  'docs/bridging.md',
  'docs/requirements.md',
  'CODE_OF_CONDUCT.md',
  'THIRD-PARTY-NOTICES.md',
];
const literal =
  /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+\//g;

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(?:ts|js|cjs|md)$/.test(file) && !generated.includes(file));

/** The numbers of the lines that are too long. Inside a template of several lines everything is content. */
function tooLong(file: string): number[] {
  const isMarkdown = file.endsWith('.md');
  let inTemplate = false;
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, at) => {
      const isInside = inTemplate;
      const isComment = /^\s*(?:\*|\/\/|\/\*)/.test(line);
      if (!isMarkdown && !isComment && (line.replaceAll('\\`', '').split('`').length - 1) % 2 === 1)
        inTemplate = !inTemplate;
      if (line.length <= WIDTH || line.includes('://')) return [];
      if (isMarkdown) return line.trimStart().startsWith('|') ? [] : [at + 1];
      if (isInside || inTemplate) return [];
      return isComment || line.replaceAll(literal, '').length > WIDTH ? [at + 1] : [];
    });
}

const problems = files.flatMap((file) => tooLong(file).map((line) => `${file}:${line}`));
for (const problem of problems) console.error(`${problem} has more than ${WIDTH} characters`);
if (problems.length > 0) process.exitCode = 1;
else console.log(`No line has more than ${WIDTH} characters.`);
