/**
 * The gateway with one of its cures taken out. A run against such a gateway has to find a difference: otherwise the run
 * proves nothing. A mutant whose text is no longer in the source fails by name, so that this list stays true.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';

export interface Mutant {
  readonly name: string;
  /** What is lost without it. */
  readonly cure: string;
  readonly edits: readonly Edit[];
}

interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export const mutants: readonly Mutant[] = [
  {
    name: 'case',
    cure: 'refusing members that differ from a protocol word in case alone',
    edits: [
      {
        file: 'src/wire/fold.ts',
        find: 'return word === name ? undefined : word;',
        replace: 'return word === name ? undefined : undefined;',
      },
    ],
  },
  {
    name: 'arguments',
    cure: 'taking arguments whose names differ in case alone from those of a rule for ambiguous',
    edits: [
      {
        file: 'src/wire/fold.ts',
        find: 'return names.has(fold) && names.get(fold) !== name;',
        replace: 'return false;',
      },
      {
        file: 'src/wire/fold.ts',
        find: 'if (all.length <= FEW_NAMES) return isAmong(all, name);',
        replace: 'if (all.length <= FEW_NAMES) return false;',
      },
    ],
  },
  {
    name: 'ids',
    cure: 'upstream ids that nobody can guess',
    edits: [
      { file: 'src/upstream/envelope.ts', find: 'let used = 0;', replace: 'let used = 0;\nlet sequence = 0;' },
      { file: 'src/upstream/envelope.ts', find: 'return `"${id}"`;', replace: 'return `"${++sequence}"`;' },
    ],
  },
  {
    name: 'names',
    cure: 'asking rules that deny about every name of a thing',
    edits: [
      {
        file: 'src/policy/spellings.ts',
        find: 'return { names: [...names], isAmbiguous: false };',
        replace: 'return { names: [name], isAmbiguous: false };',
      },
    ],
  },
  {
    name: 'addresses',
    cure: 'denying addresses that two parsers read differently',
    edits: [
      {
        file: 'src/policy/addresses.ts',
        find: 'isAmbiguous: isEndless || hasControls(decoded) || CONTROL.test(uri) || uri.trim() !== uri || isReadInTwoWays(uri),',
        replace: 'isAmbiguous: false,',
      },
    ],
  },
  {
    name: 'authorities',
    cure: 'asking rules that deny about an address without its authority',
    edits: [
      {
        file: 'src/policy/addresses.ts',
        find: 'for (const one of new Set([...readings, ...reductions])) addOtherAuthorities(one, reductions);',
        replace: '',
      },
    ],
  },
];

/** Applied while the program is bundled; the sources stay as they are. */
export function mutation(root: string, { name, edits }: Mutant): Plugin {
  for (const { file, find } of edits) {
    const count = readFileSync(join(root, file), 'utf8').split(find).length - 1;
    if (count !== 1) throw new Error(`mutant "${name}": ${file} has its text ${count} times, not once: ${find}`);
  }
  return {
    name: 'mutation',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const here = edits.filter(({ file }) => path === join(root, file));
        if (here.length === 0) return undefined;
        const contents = here.reduce(
          (text, { find, replace }) => text.replace(find, () => replace),
          readFileSync(path, 'utf8'),
        );
        return { contents, loader: 'ts' };
      });
    },
  };
}
