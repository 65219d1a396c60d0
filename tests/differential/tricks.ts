/**
 * Ways to write a message so that two readers could understand it differently. Each takes the tree of a message and
 * changes one thing in it; `text` tricks change what is written of it. Some are harmless, and must get through.
 */
import type { Chance } from '../interaction/faults/chance.ts';
import { leaf, type Member, type Node, nameOf, treeOf } from './readers/tree.ts';

export interface Trick {
  readonly name: string;
  readonly onTree?: (chance: Chance, tree: Node) => void;
  readonly onText?: (chance: Chance, text: string) => string;
}

type ObjectNode = Extract<Node, { kind: 'object' }>;

/** All objects of a message, the ones that protocol words stand in first. */
function objects(node: Node): ObjectNode[] {
  if (node.kind === 'leaf') return [];
  if (node.kind === 'array') return node.items.flatMap(objects);
  return [node, ...node.members.flatMap(({ value }) => objects(value))];
}

function anyObject(chance: Chance, tree: Node): ObjectNode | undefined {
  const all = objects(tree).filter(({ members }) => members.length > 0);
  return all.length === 0 ? undefined : chance.pick(all);
}

function atMember(chance: Chance, tree: Node, change: (holder: ObjectNode, at: number, member: Member) => void): void {
  const holder = anyObject(chance, tree);
  if (holder === undefined) return;
  const at = chance.below(holder.members.length);
  change(holder, at, holder.members[at] as Member);
}

function insert(chance: Chance, holder: ObjectNode, at: number, member: Member): void {
  holder.members.splice(chance.once(2) ? at : at + 1, 0, member);
}

/** Another value that matters: what a denied message would have there. */
function rival(chance: Chance, name: string, value: Node): Node {
  const rivals: Readonly<Record<string, unknown[]>> = {
    method: ['tools/call', 'resources/read', 'wipe', 'pay'],
    name: ['delete_file', 'hidden', 'act', 'read_file'],
    uri: ['file:///secret/a', 'http://10.0.0.1/admin', 'file://x/secret/a', 'notes:secret/a', 'memo://secret:1/1'],
    force: [true, false],
    path: ['/secret/a', '/public/a'],
    amount: [1000, 5],
    mode: ['root', 'user'],
    id: [1, 2, 'x'],
    params: [{ name: 'delete_file', arguments: { force: true } }, { amount: 1000 }, { uri: 'file:///secret/a' }],
    arguments: [{ force: true, path: '/secret/a', amount: 1000, mode: 'root' }],
  };
  const choices = rivals[name];
  return choices === undefined || chance.once(5) ? value : treeOf(chance.pick(choices));
}

function otherCase(chance: Chance, name: string): string {
  const forms = [
    name.toUpperCase(),
    `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
    [...name].map((letter) => (chance.once(2) ? letter.toUpperCase() : letter)).join(''),
    `${name.slice(0, -1)}${name.slice(-1).toUpperCase()}`,
  ].filter((form) => form !== name);
  return forms.length === 0 ? name : chance.pick(forms);
}

/** U+017F folds to s, and U+212A to k. */
function otherLetters(name: string): string {
  return name.replace('s', '\u017f').replace('k', '\u212a');
}

function escaped(chance: Chance, text: string): string {
  const units = text.split('');
  if (units.length === 0) return text;
  const chosen = chance.below(units.length);
  return units
    .map((unit, at) => (at === chosen ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : unit))
    .join('');
}

function twin(rename: (chance: Chance, name: string) => string) {
  return (chance: Chance, tree: Node) =>
    atMember(chance, tree, (holder, at, { key, value }) => {
      const name = nameOf(key) ?? '';
      insert(chance, holder, at, { key: JSON.stringify(rename(chance, name)), value: rival(chance, name, value) });
    });
}

function renamed(rename: (chance: Chance, name: string) => string) {
  return (chance: Chance, tree: Node) =>
    atMember(chance, tree, (holder, at, { key, value }) => {
      holder.members[at] = { key: JSON.stringify(rename(chance, nameOf(key) ?? '')), value };
    });
}

/** Changes a leaf that fits. */
function leafThat(fits: (text: string) => boolean, change: (chance: Chance, text: string) => string) {
  return (chance: Chance, tree: Node) => {
    const places = objects(tree).flatMap((holder) =>
      holder.members.flatMap((member, at) =>
        member.value.kind === 'leaf' && fits(member.value.text) ? [{ holder, at, text: member.value.text }] : [],
      ),
    );
    if (places.length === 0) return;
    const { holder, at, text } = chance.pick(places);
    holder.members[at] = { key: (holder.members[at] as Member).key, value: leaf(change(chance, text)) };
  };
}

const isText = (text: string) => text.startsWith('"') && text.length > 2;
const isNumber = (text: string) => /^[-\d]/.test(text);

const numbers = [
  ...['1e2', '1.0', '1E400', '-0', '-0.0', '9007199254740993', '0.1e1', '101.0', '1.01e2', '1e-400', '10000e-2'],
  ...[
    '100.99999999999999999999',
    '101e0',
    '12345678901234567890',
    '1e308',
    '-1e400',
    '1e+2',
    '1000000000000000000000000',
  ],
];
const otherTypes = ['"true"', '1', '"yes"', 'null', '[true]', '{"a":true}', '"101"', '"1e3"', '0', 'false', 'true'];
const controls = [
  '\\u0000',
  '\\t',
  '\\n',
  '\\r',
  '\\u007f',
  '\\u200b',
  '\\u0085',
  '\\ufeff',
  '\\u2028',
  '\t',
  '\u0000',
  '\\ud800',
];
const strangeKeys = ['"__proto__"', '"constructor"', '""', '"\\u0000"', '"toString"', '"\\ud83d\\ude00"', '"jsonrpc "'];

export const tricks: readonly Trick[] = [
  { name: 'plain' },
  { name: 'white space', onText: (chance, text) => text.replaceAll(/([{},:[\]])/g, (sign) => spaced(chance, sign)) },
  { name: 'escaped value', onTree: leafThat(isText, (chance, text) => `"${escaped(chance, text.slice(1, -1))}"`) },
  {
    name: 'escaped key',
    onTree: (chance, tree) =>
      atMember(chance, tree, (holder, at, { key, value }) => {
        holder.members[at] = { key: `"${escaped(chance, key.slice(1, -1))}"`, value };
      }),
  },
  {
    name: 'order',
    onTree: (chance, tree) => {
      anyObject(chance, tree)?.members.sort(() => chance.below(3) - 1);
    },
  },
  { name: 'number', onTree: leafThat(isNumber, (chance) => chance.pick(numbers)) },
  { name: 'twin in another case', onTree: twin(otherCase) },
  { name: 'twin in other letters', onTree: twin((_, name) => otherLetters(name)) },
  { name: 'name in another case', onTree: renamed(otherCase) },
  { name: 'name in other letters', onTree: renamed((_, name) => otherLetters(name)) },
  { name: 'duplicate', onTree: twin((_, name) => name) },
  {
    name: 'escaped duplicate',
    onTree: (chance, tree) =>
      atMember(chance, tree, (holder, at, { key, value }) =>
        insert(chance, holder, at, {
          key: `"${escaped(chance, key.slice(1, -1))}"`,
          value: rival(chance, nameOf(key) ?? '', value),
        }),
      ),
  },
  {
    name: 'extra member',
    onTree: (chance, tree) =>
      atMember(chance, tree, (holder, at) =>
        insert(chance, holder, at, { key: chance.pick(['"extra"', '"x-note"', '"data"']), value: treeOf({ a: [1] }) }),
      ),
  },
  {
    name: 'strange key',
    onTree: (chance, tree) =>
      atMember(chance, tree, (holder, at) =>
        insert(chance, holder, at, { key: chance.pick(strangeKeys), value: leaf('"x"') }),
      ),
  },
  {
    name: 'another type',
    onTree: leafThat(
      (text) => /^(true|false|[-\d])/.test(text),
      (chance) => chance.pick(otherTypes),
    ),
  },
  {
    name: 'control character',
    onTree: leafThat(isText, (chance, text) => {
      const at = 1 + chance.below(text.length - 1);
      return `${text.slice(0, at)}${chance.pick(controls)}${text.slice(at)}`;
    }),
  },
  { name: 'text in another case', onTree: leafThat(isText, (chance, text) => otherCase(chance, text)) },
  {
    name: 'broken syntax',
    onText: (chance, text) =>
      chance.pick([
        `${text},`,
        `${text} //`,
        text.replace('}', ',}'),
        text.replaceAll('"', "'"),
        `${text}{}`,
        text.slice(0, -1),
      ]),
  },
  { name: 'byte order mark', onText: (_, text) => `\ufeff${text}` },
];

function spaced(chance: Chance, sign: string): string {
  return chance.once(3)
    ? `${chance.pick([' ', '\t', '\n', '\r\n', '  '])}${sign}${chance.pick(['', ' ', '\n'])}`
    : sign;
}
