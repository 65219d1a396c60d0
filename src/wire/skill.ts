/**
 * The rules for an entry of `skills/list`. Clients refuse a skill that breaks one of them, and some refuse the whole
 * list with it.
 * https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
 */
import { isObject } from './values.ts';

const FILE = '/SKILL.md';
const NAME = /^(?=.{1,64}$)[0-9a-z]+(?:-[0-9a-z]+)*$/;
const DESCRIPTION_LENGTH = 1_024;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const MOST_FILES = 512;
const MOST_BYTES = 16 * 1024 * 1024;

/** Why it is no valid skill; undefined if it is one. */
export function skillFault(skill: unknown): string | undefined {
  if (!isObject(skill)) return 'it is no object';
  const { uri, frontmatter, resources } = skill;
  const directory = typeof uri === 'string' ? directoryOf(uri) : undefined;
  if (directory === undefined) return 'its uri does not end in a directory and /SKILL.md';
  if (!isObject(frontmatter) || Object.hasOwn(frontmatter, '__proto__')) return 'its frontmatter is no plain object';
  const { name, description } = frontmatter;
  if (typeof name !== 'string' || !NAME.test(name)) return 'its name is invalid';
  if (lastSegment(directory) !== name) return 'its name is not the name of its directory';
  if (typeof description !== 'string' || description === '' || [...description].length > DESCRIPTION_LENGTH)
    return 'its description is missing or too long';
  return resources === 'dynamic' ? undefined : manifestFault(resources, `${directory}${FILE}`, `${directory}/`);
}

function manifestFault(resources: unknown, own: string, directory: string): string | undefined {
  if (!Array.isArray(resources) || resources.length > MOST_FILES) return 'its resources are no list, or too many';
  const seen = new Set<string>();
  let bytes = 0;
  for (const resource of resources) {
    const { uri, digest, size } = isObject(resource) ? resource : {};
    const file = typeof uri === 'string' ? hrefOf(uri) : undefined;
    if (file === undefined || !isInside(file, directory)) return 'a file is outside of its directory';
    if (seen.has(file)) return 'a file is listed twice';
    if (typeof digest !== 'string' || !DIGEST.test(digest)) return 'a file has no valid digest';
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return 'a file has no valid size';
    seen.add(file);
    bytes += size;
  }
  if (!seen.has(own)) return 'its own file is not among its resources';
  return bytes > MOST_BYTES ? 'its files are too large' : undefined;
}

/** The canonical URI of the directory, without the slash at its end. */
function directoryOf(uri: string): string | undefined {
  const href = hrefOf(uri);
  if (href?.endsWith(FILE) !== true) return undefined;
  const directory = href.slice(0, -FILE.length);
  return directory.endsWith('/') ? undefined : directory;
}

function hrefOf(uri: string): string | undefined {
  return URL.canParse(uri) ? new URL(uri).href : undefined;
}

function lastSegment(uri: string): string {
  return uri.slice(uri.lastIndexOf('/') + 1);
}

function isInside(file: string, directory: string): boolean {
  return file.startsWith(directory) && !/[?#]/.test(file) && !file.slice(directory.length).split('/').includes('');
}
