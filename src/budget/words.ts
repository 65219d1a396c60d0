/**
 * Text as the words that a search compares: lower-case, without endings, and beside each word the meaning that it
 * shares with others. The meanings are those of programs in general. Nothing here knows any tool.
 */

/** More words than any question has, and than the part of a description that is read. */
const MOST_WORDS = 400;
/** A longer word is an identifier or a digest. */
const MOST_LETTERS = 40;

const stopWords = new Set(
  (
    'a about above after again all also an and any are as at back be been before being below between both but by can ' +
    'could did do does doing down during each ever every few for from further had has have having he her here him ' +
    'his how i if in into is it its just let like ll m may me might more most much must my need nobody no nor not now ' +
    'of off on once one only or other our out over own per please re s same she should since so some somebody someone ' +
    'soon such t than that the their them then there these they this those through to too under until up us use ' +
    'using ve very via want was we were what when where which while who whose why will with within without would ' +
    'you your'
  ).split(' '),
);

/**
 * Words that mean the same to somebody who asks for a tool. A word may be in several groups. Grouped by what programs
 * do, and by what they do it with.
 */
const meanings: readonly string[] = [
  'create add insert new make register generate store provision build',
  'delete remove drop erase destroy purge clear forget cleanup clean sweep uninstall prune',
  'update edit change modify correct patch alter adjust set rewrite mark',
  'get fetch retrieve read show view describe display see inspect detail info information',
  'list enumerate available existing',
  'search find query look lookup filter discover locate mention',
  'send post publish announce write notify broadcast',
  'run execute invoke perform evaluate rerun trigger',
  'start resume wake restore begin unpause boot restart',
  'stop pause suspend halt disable',
  'move rename relocate transfer',
  'copy duplicate clone fork',
  'upload attach attachment put import',
  'download export save',
  'undo rollback revert reset',
  'deploy ship release rollout publish launch',
  'scale resize size increase number grow',
  'image picture photo screenshot capture snapshot',
  'comment note reply feedback discussion answer respond',
  'user person people member contact account',
  'folder directory path',
  'row record entry entity item object',
  'column field property attribute cell',
  'schema structure shape type metadata infer',
  'cost price pricing pay charge fee bill billing',
  'error bug issue crash failure exception problem fail broken warning alert',
  'log output message print console trace',
  'remember memory memorize recall know knowledge observation fact',
  'task reminder remind todo engagement activity',
  'link association relation relationship connection reference url',
  'documentation doc docs guide manual',
  'page document site website webpage web',
  'scrape crawl extract',
  'watch monitor track observe change',
  'allow permit allowed permission grant access whitelist allowlist',
  'check validate verify lint test',
  'speed performance slow fast latency index optimize explain',
  'backup snapshot dump archive',
  'direction route navigation',
  'address geocode location coordinate place',
  'history recent recently past',
  'reaction emoji like thumb',
  'repository repo git',
  'database db postgres sql',
  'cluster node pod container kubernetes k8s kubectl',
  'switch context select choose',
  'storage disk space',
  'group aggregate aggregation sum total count quantity',
  'security advisor recommendation advice secure',
  'channel chat conversation thread',
  'elevation altitude height high level',
  'travel distance time duration journey',
  'table grid spreadsheet sheet',
  'flaky intermittent sometimes unstable unreliable',
  'forward tunnel expose localhost port reach',
  'contact customer client lead',
  'crm contact deal company ticket',
];

const groups = new Map<string, string[]>();

/** The words of a text, in order, with repetitions. `camelCase`, `snake_case` and `kebab-case` are taken apart. */
export function wordsIn(text: string): readonly string[] {
  const apart = text.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  const words: string[] = [];
  for (const [word] of apart.matchAll(/[\p{L}\p{N}]+/gu)) {
    if (word.length > MOST_LETTERS || stopWords.has(word)) continue;
    words.push(stem(word));
    if (words.length === MOST_WORDS) break;
  }
  return words;
}

/** The meanings of a word that `wordsIn` gave, marked so that no word of a text is taken for one. */
export function meaningsOf(word: string): readonly string[] {
  return groups.get(word) ?? [];
}

/** Stems of words that were seen: tools share their vocabulary. Emptied when it is full. */
const stems = new Map<string, string>();
const STEMS = 20_000;

function stem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (stems.size >= STEMS) stems.clear();
  const made = word.length < 4 || !/^[a-z]+$/.test(word) ? word : withoutEnding(word);
  stems.set(word, made);
  return made;
}

/** English endings, as far as they matter for comparing. Both sides are cut alike, so the result need be no word. */
function withoutEnding(word: string): string {
  let cut = word;
  if (cut.endsWith('ies')) cut = `${cut.slice(0, -3)}y`;
  else if (/(?:s|x|z|ch|sh)es$/.test(cut)) cut = cut.slice(0, -2);
  else if (/[^us]s$/.test(cut)) cut = cut.slice(0, -1);
  const inner = cut.endsWith('ing') ? cut.slice(0, -3) : cut.endsWith('ed') ? cut.slice(0, -2) : '';
  if (inner.length > 2 && /[aeiouy]/.test(inner)) cut = inner.replace(/([^aeioulsz])\1$/, '$1');
  return cut.length > 4 ? cut.replace(/(?:ation|ion|e)$/, '') : cut;
}

for (const [at, group] of meanings.entries()) {
  for (const word of group.split(' ')) {
    const stemmed = stem(word);
    groups.set(stemmed, [...(groups.get(stemmed) ?? []), `~${at}`]);
  }
}
