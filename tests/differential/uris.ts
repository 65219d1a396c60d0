/** The spellings that one address can have, or seem to have. */
import type { Chance } from '../interaction/faults/chance.ts';

type Respelling = (uri: string, chance: Chance) => string;

const respellings: Readonly<Record<string, Respelling>> = {
  'scheme in another case': (uri) => uri.replace(/^[a-z]+/, (scheme) => scheme.toUpperCase()),
  'host in another case': (uri) => uri.replace(/\/\/[^/]+/, (host) => host.toUpperCase()),
  'tab inside': (uri, chance) => inserted(uri, '\t', chance),
  'line break inside': (uri, chance) => inserted(uri, chance.pick(['\n', '\r']), chance),
  'space around': (uri, chance) => chance.pick([` ${uri}`, `${uri} `]),
  'umlaut and space': (uri) => `${uri}/ä b`,
  'one slash': (uri) => uri.replace(/:\/\/+/, ':/'),
  'no slash': (uri) => uri.replace(/:\/\/+/, ':'),
  backslashes: (uri) => uri.replaceAll('/', '\\'),
  'one backslash': (uri, chance) => replacedAt(uri, '/', '\\', chance),
  'dot segment': (uri) => uri.replace(/\/([^/]*)$/, '/./$1'),
  detour: (uri) => uri.replace(/\/([^/]*)$/, '/x/../$1'),
  'encoded detour': (uri) => uri.replace(/\/([^/]*)$/, '/x/%2e%2e/$1'),
  'climbing out of public': (uri) => uri.replace('/public/', '/public/../secret/'),
  'climbing out, encoded': (uri, chance) =>
    uri.replace(
      '/public/',
      `/public/${chance.pick(['%2e%2e', '..%2f', '%2E.', '..%5c', '%252e%252e', '..%00'])}/secret/`,
    ),
  'doubled slash': (uri) => uri.replace(/\/([^/]*)$/, '//$1'),
  'percent encoding': (uri, chance) => encodedAt(uri, chance, 1),
  'percent encoding, twice': (uri, chance) => encodedAt(uri, chance, 2),
  'percent encoding, three times': (uri, chance) => encodedAt(uri, chance, 3),
  'decimal address': (uri) => uri.replace('10.0.0.1', '167772161'),
  'hexadecimal address': (uri, chance) =>
    uri.replace('10.0.0.1', chance.pick(['0x0a000001', '0xa.0.0.1', '0x0a.0x0.0.0x1'])),
  'octal address': (uri) => uri.replace('10.0.0.1', '012.0.0.01'),
  'short address': (uri) => uri.replace('10.0.0.1', '10.1'),
  'full-width digits': (uri) => uri.replace('10.0.0.1', '１０.０.０.１'),
  'trailing dot': (uri) => uri.replace(/(\/\/[^/:]+)/, '$1.'),
  'user before the host': (uri, chance) =>
    uri.replace('//', chance.pick(['//user@', '//api.example@', '//a:b@', '//a%2fb@', '//a%3f@'])),
  'host of another': (uri) => uri.replace('//', '//10.0.0.1#@'),
  'usual port': (uri) =>
    uri.replace(/^(https?):\/\/([^/:]+)/, (_, scheme, host) => `${scheme}://${host}:${scheme === 'http' ? 80 : 443}`),
  'empty port': (uri) => uri.replace(/^(https?:\/\/[^/:]+)/, '$1:'),
  'port with zeros': (uri) => uri.replace(/^http:\/\/10.0.0.1(:8080)?/, 'http://10.0.0.1:0008080'),
  'another host': (uri, chance) =>
    uri.replace(/^((?:file|notes):\/\/)\//, `$1${chance.pick(['x', 'localhost', '127.0.0.1', '[::1]', 'u@x:1'])}/`),
  'another port': (uri) => uri.replace(/^((?:memo|notes|file):\/\/[^/:]+)/, '$1:1'),
  'first part as the host': (uri) => uri.replace(/^(file|notes):\/\/\//, '$1://'),
  'host as the first part': (uri) => uri.replace('memo://', 'memo:///'),
  'query and fragment': (uri, chance) => `${uri}${chance.pick(['?', '#', '?x=1', '#x', '?#'])}`,
  'trailing slash': (uri) => `${uri}/`,
  'localhost as the host of a file': (uri) => uri.replace('file:///', 'file://localhost/'),
  'four slashes': (uri) => uri.replace('file:///', 'file:////'),
  NUL: (uri, chance) => inserted(uri, '\u0000', chance),
  'soft hyphen in the host': (uri) => uri.replace('api', 'a\u00adpi'),
  'dot of another script': (uri) => uri.replaceAll('.', '\u3002'),
};

function inserted(uri: string, text: string, chance: Chance): string {
  const at = chance.below(uri.length + 1);
  return `${uri.slice(0, at)}${text}${uri.slice(at)}`;
}

function replacedAt(uri: string, what: string, by: string, chance: Chance): string {
  const places = [...uri.matchAll(new RegExp(what, 'g'))].map(({ index }) => index);
  if (places.length === 0) return uri;
  const at = chance.pick(places);
  return `${uri.slice(0, at)}${by}${uri.slice(at + 1)}`;
}

function encodedAt(uri: string, chance: Chance, times: number): string {
  const start = uri.indexOf('//') + 2;
  const at = start + chance.below(Math.max(1, uri.length - start));
  const sign = uri.charCodeAt(at);
  if (Number.isNaN(sign) || sign > 0x7f) return uri;
  const code = `%${'25'.repeat(times - 1)}${sign.toString(16).padStart(2, '0')}`;
  return `${uri.slice(0, at)}${code}${uri.slice(at + 1)}`;
}

export const uriTricks = Object.keys(respellings);

export function respell(uri: string, trick: string, chance: Chance): string {
  return respellings[trick]?.(uri, chance) ?? uri;
}
