/** Our own messages for the YAML parser's errors: its messages quote the file, which contains secrets. */
import type { ErrorCode } from 'yaml';

export type Syntax = 'json' | 'yaml';

interface Wording {
  readonly message: string;
  readonly expected?: string;
}

const wordings: Readonly<Partial<Record<ErrorCode, Wording>>> = {
  ALIAS_PROPS: { message: 'an alias can have neither anchor nor tag' },
  BAD_ALIAS: { message: 'this alias or anchor is not usable', expected: 'a name that is defined above with `&`' },
  BAD_COLLECTION_TYPE: { message: 'this tag does not fit its value' },
  BAD_DIRECTIVE: { message: 'this directive is not understood', expected: 'none: a config file needs no directives' },
  BAD_DQ_ESCAPE: { message: 'unknown escape sequence', expected: 'a backslash to be written `\\\\`' },
  BAD_INDENT: {
    message: 'the indentation is wrong here',
    expected: 'the same indentation as the lines that belong together',
  },
  BAD_PROP_ORDER: { message: 'an anchor or tag stands in the wrong place' },
  BAD_SCALAR_START: { message: "a value can't begin with this character", expected: 'the value to be in quotes' },
  BLOCK_AS_IMPLICIT_KEY: { message: "a map can't begin here", expected: 'a value, or the map on a line of its own' },
  BLOCK_IN_FLOW: { message: "an indented block can't stand inside brackets or braces" },
  KEY_OVER_1024_CHARS: { message: 'this key is longer than 1024 characters' },
  MISSING_CHAR: {
    message: 'something is missing here or just before',
    expected: 'a comma, a colon, a quote or a closing bracket',
  },
  MULTILINE_IMPLICIT_KEY: { message: 'a key has to be on one line', expected: 'a `:` after the key' },
  MULTIPLE_ANCHORS: { message: 'more than one anchor' },
  MULTIPLE_DOCS: { message: 'a second document begins here', expected: 'one document in the file' },
  MULTIPLE_TAGS: { message: 'more than one tag' },
  NON_STRING_KEY: { message: 'this key is not text' },
  RESOURCE_EXHAUSTION: { message: 'the file is nested too deeply' },
  TAB_AS_INDENT: { message: 'the line is indented with a tab', expected: 'indentation with spaces' },
  TAG_RESOLVE_FAILED: { message: 'tags such as this are not supported', expected: 'the plain value' },
};

const byDefault: Readonly<Record<Syntax, Wording>> = {
  json: { message: 'this is not valid JSON', expected: 'a comma, a colon or a bracket before this' },
  yaml: { message: 'this is not valid YAML' },
};

/** For a JSON file, messages about YAML (indentation, aliases, keys on one line) would confuse. */
const jsonToo: ReadonlySet<ErrorCode> = new Set([
  'BAD_DQ_ESCAPE',
  'KEY_OVER_1024_CHARS',
  'MISSING_CHAR',
  'RESOURCE_EXHAUSTION',
]);

export function wordingOf(code: ErrorCode, syntax: Syntax): Wording {
  const wording = wordings[code];
  return wording === undefined || (syntax === 'json' && !jsonToo.has(code)) ? byDefault[syntax] : wording;
}
