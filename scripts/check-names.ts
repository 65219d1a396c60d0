/**
 * One name, one meaning: no type, class or interface is declared in two files of src/. The demo is a program of its own
 * and may repeat names. Also: every file that the documents name exists.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const declaration = /^(?:export )?(?:abstract |declare )*(?:class|interface|type|enum) ([A-Z]\w*)/gm;
const documentedFile = /`((?:src\/)?(?:[a-z0-9-]+\/)+[a-z0-9-]+\.ts)`/g;

const files = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));

function declaredTwice(): string[] {
  const places = new Map<string, string[]>();
  for (const file of files('src', '.ts')) {
    if (file.startsWith(join('src', 'demo'))) continue;
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(declaration))
      places.set(name, [...(places.get(name) ?? []), file]);
  }
  return [...places]
    .filter(([, where]) => new Set(where).size > 1)
    .map(([name, where]) => `${name} is declared in ${where.join(' and ')}`);
}

function missingFiles(): string[] {
  return [...files('docs', '.md'), 'CONTRIBUTING.md', 'README.md'].flatMap((document) =>
    [...readFileSync(document, 'utf8').matchAll(documentedFile)]
      .map(([, name = '']) => name)
      .filter((name) => ![name, join('src', name), join('tests', name)].some((path) => existsSync(path)))
      .map((name) => `${document} names ${name}, which does not exist`),
  );
}

const problems = [...declaredTwice(), ...missingFiles()];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log('Every name has one meaning, and every file that is named exists.');
