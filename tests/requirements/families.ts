/** Ids are paths; the family is how they begin. */

/** Where the first word says too little: `hosting:http` and `hosting:auth` have nothing in common. */
const twoWords: ReadonlySet<string> = new Set(['hosting', 'gateway']);

export function familyOf(id: string): string {
  const [first = id, second] = id.split(':');
  return twoWords.has(first) && second !== undefined ? `${first}:${second}` : first;
}

/** The ground that everything else stands on: here nothing may be put off until later. */
export const settledFamilies: ReadonlySet<string> = new Set([
  'lifecycle',
  'protocol',
  'hosting:http',
  'hosting:session',
  'hosting:resume',
  'transport',
  'ping',
  'tools',
  'prompts',
  'resources',
  'logging',
  'completion',
  'pagination',
]);
