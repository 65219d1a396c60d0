/**
 * The two policies of the run, and what they mean, said once more in plain code. The first one allows everything but
 * what it denies, the second one denies everything but what it allows: a spelling that slips past a deny shows in the
 * first, one that slips under an allow in the second.
 */
import { posix } from 'node:path';
import type { Facts, ParsedUri } from './readers/facts.ts';

export type Stance = 'denies' | 'allows';

const onAct = { tools: ['act'] };
const secrets = ['file:///secret/**', 'notes:///secret/**', 'memo://secret/**'];

export const policies: Readonly<Record<Stance, object>> = {
  denies: {
    rules: [
      { id: 'all', effect: 'allow' },
      { id: 'no-delete', effect: 'deny', what: ['call'], on: { tools: ['delete_file'] } },
      { id: 'no-force', effect: 'deny', what: ['call'], on: onAct, with: { arguments: { force: { equals: true } } } },
      {
        id: 'no-path',
        effect: 'deny',
        what: ['call'],
        on: onAct,
        with: { arguments: { path: { glob: ['/secret/**', 'file:///secret/**', 'notes:///secret/**'] } } },
      },
      { id: 'no-sum', effect: 'deny', what: ['call'], on: onAct, with: { arguments: { amount: { min: 101 } } } },
      {
        id: 'no-root',
        effect: 'deny',
        what: ['call'],
        when: "name == 'cel' && has(arguments.mode) && arguments.mode == 'root'",
      },
      {
        id: 'no-secrets',
        effect: 'deny',
        what: ['read', 'subscribe'],
        on: { uris: [...secrets, 'http://10.0.0.1/**', 'http://10.0.0.1:8080/**'] },
      },
      { id: 'no-hidden', effect: 'deny', what: ['get', 'complete'], on: { prompts: ['hidden'] } },
      { id: 'no-wipe', effect: 'deny', what: ['rpc'], on: { methods: ['wipe'] } },
      {
        id: 'no-pay',
        effect: 'deny',
        what: ['rpc'],
        on: { methods: ['pay'] },
        with: { arguments: { amount: { min: 101 } } },
      },
    ],
  },
  allows: {
    rules: [
      { id: 'read', effect: 'allow', what: ['call'], on: { tools: ['read_file'] } },
      {
        id: 'act',
        effect: 'allow',
        what: ['call'],
        on: onAct,
        with: { arguments: { force: { equals: false }, path: { glob: '/public/**' }, amount: { max: 100 } } },
      },
      {
        id: 'cel',
        effect: 'allow',
        what: ['call'],
        when: "name == 'cel' && has(arguments.mode) && arguments.mode == 'user'",
      },
      {
        id: 'public',
        effect: 'allow',
        what: ['read', 'subscribe'],
        on: { uris: ['file:///public/**', 'notes:///public/**', 'https://api.example/**'] },
      },
      { id: 'shown', effect: 'allow', what: ['get', 'complete'], on: { prompts: ['shown'] } },
      { id: 'balance', effect: 'allow', what: ['rpc'], on: { methods: ['balance'] } },
      {
        id: 'pay',
        effect: 'allow',
        what: ['rpc'],
        on: { methods: ['pay'] },
        with: { arguments: { amount: { max: 100 } } },
      },
    ],
  },
};

/** Why a message that is read so must not have been forwarded; undefined where it may be. */
export function objection(stance: Stance, facts: Facts): string | undefined {
  return stance === 'denies' ? denied(facts) : unallowed(facts);
}

const TRUE = 'true';
const FALSE = 'false';

function denied({ method, name, uri, parsedUri, refName, arguments: given }: Facts): string | undefined {
  if (method === 'tools/call') {
    if (name === 'delete_file') return 'a denied tool';
    if (name === 'act' && given.force === TRUE) return 'a denied flag';
    if (name === 'act' && isBelow('/secret', pathIn(textIn(given.path)))) return 'a denied path';
    if (name === 'act' && (numberIn(given.amount) ?? 0) >= 101) return 'a denied amount';
    if (name === 'cel' && textIn(given.mode) === 'root') return 'a denied mode';
  }
  if (method === 'prompts/get' && name === 'hidden') return 'a denied prompt';
  if (method === 'completion/complete' && refName === 'hidden') return 'a denied prompt to complete';
  if (isAboutUri(method) && uri !== undefined && isSecret(uri, parsedUri)) return 'a denied URI';
  if (method === 'wipe') return 'a denied method';
  if (method === 'pay' && (numberIn(given.amount) ?? 0) >= 101) return 'a denied amount';
  return undefined;
}

function unallowed({ method, name, uri, parsedUri, refName, arguments: given }: Facts): string | undefined {
  if (method === 'tools/call') {
    if (name === 'read_file') return undefined;
    if (name === 'cel') return textIn(given.mode) === 'user' ? undefined : 'a mode that is not allowed';
    if (name !== 'act') return 'a tool that is not allowed';
    if (given.force !== FALSE) return 'a flag that is not allowed';
    if (!isBelow('/public', textIn(given.path))) return 'a path that is not allowed';
    return (numberIn(given.amount) ?? Number.POSITIVE_INFINITY) <= 100 ? undefined : 'an amount that is not allowed';
  }
  if (method === 'prompts/get') return name === 'shown' ? undefined : 'a prompt that is not allowed';
  if (method === 'completion/complete') return refName === 'shown' ? undefined : 'a prompt that may not be completed';
  // A library that cannot read an address does nothing with it.
  if (isAboutUri(method) && uri !== undefined && parsedUri === undefined) return undefined;
  if (isAboutUri(method)) return isPublic(parsedUri) ? undefined : 'a URI that is not allowed';
  if (method === 'pay')
    return (numberIn(given.amount) ?? Number.POSITIVE_INFINITY) <= 100 ? undefined : 'an amount that is not allowed';
  if (method === 'balance' || isOpen(method)) return undefined;
  return 'a method that is not allowed';
}

/** Actions that need no rule. */
function isOpen(method: string | undefined): boolean {
  return method === undefined || /^notifications\/|\/list$|^ping$|^resources\/unsubscribe$/.test(method);
}

function isAboutUri(method: string | undefined): boolean {
  return method === 'resources/read' || method === 'resources/subscribe';
}

function textIn(normal: string | undefined): string | undefined {
  return normal?.startsWith('$') ? Buffer.from(normal.slice(1), 'hex').toString() : undefined;
}

function numberIn(normal: string | undefined): number | undefined {
  if (normal === 'Infinity') return Number.POSITIVE_INFINITY;
  if (normal === '-Infinity') return Number.NEGATIVE_INFINITY;
  if (!normal?.startsWith('#')) return undefined;
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(`0x${normal.slice(1)}`));
  return bytes.readDoubleBE();
}

/** A backend that takes addresses looks at their paths alone. */
function pathIn(text: string | undefined): string | undefined {
  if (text === undefined || !/^(?:file|notes):/i.test(text) || !URL.canParse(text)) return text;
  return readPath(new URL(text).pathname);
}

/** As a file system resolves it. */
function isBelow(folder: string, path: string | undefined): boolean {
  return path !== undefined && posix.normalize(path).startsWith(`${folder}/`);
}

function isSecret(uri: string, parsed: ParsedUri | undefined): boolean {
  if (parsed === undefined) return /^file:\/\/\/secret\//i.test(uri);
  const host = parsed.host.toLowerCase().replace(/\.$/, '');
  const scheme = parsed.scheme.toLowerCase();
  // Backends that look at the path alone, and at the host and the path.
  if (scheme === 'file' || scheme === 'notes') return isBelow('/secret', readPath(parsed.path));
  if (scheme === 'memo') return isBelow('/secret', readPath(`${host}${parsed.path}`));
  return scheme === 'http' && host === '10.0.0.1' && ['', '80', '8080'].includes(parsed.port);
}

function isPublic(parsed: ParsedUri | undefined): boolean {
  if (parsed === undefined) return false;
  const host = parsed.host.toLowerCase().replace(/\.$/, '');
  const scheme = parsed.scheme.toLowerCase();
  if (scheme === 'file' || scheme === 'notes')
    return (host === '' || (scheme === 'file' && host === 'localhost')) && isBelow('/public', readPath(parsed.path));
  return scheme === 'https' && host === 'api.example' && ['', '443'].includes(parsed.port);
}

/** A path that begins without a slash is below the root all the same for those who open it. */
function readPath(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}
