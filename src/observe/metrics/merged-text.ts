/** Puts the metrics of several processes into one text. A family stands in it once, with the samples of all of them. */
import type { TextFormat } from './text.ts';

export interface WorkerText {
  readonly worker: string;
  readonly text: string;
}

interface FamilyText {
  /** `# HELP`, `# TYPE` and `# UNIT`. */
  readonly about: string[];
  readonly samples: string[];
}

const END = '# EOF';

export function mergeTexts(texts: readonly WorkerText[], format: TextFormat): string {
  const families = new Map<string, FamilyText>();
  for (const { worker, text } of texts) {
    let family: FamilyText | undefined;
    let isKnown = false;
    for (const line of text.split('\n')) {
      if (line === '' || line === END) continue;
      if (line.startsWith('# HELP ')) {
        const [, , name = ''] = line.split(' ', 3);
        isKnown = families.has(name);
        family = families.get(name) ?? { about: [], samples: [] };
        families.set(name, family);
      }
      if (!line.startsWith('#')) family?.samples.push(labelled(line, worker));
      else if (!isKnown) family?.about.push(line);
    }
  }
  const lines = [...families.values()].flatMap(({ about, samples }) => [...about, ...samples]);
  return `${[...lines, ...(format === 'openmetrics' ? [END] : [])].join('\n')}\n`;
}

/** `name{a="b"} 1` or `name 1`. Names have neither braces nor spaces. */
function labelled(line: string, worker: string): string {
  const [name = ''] = line.split(/[{ ]/, 1);
  const rest = line.slice(name.length);
  const label = `worker="${worker}"`;
  return rest.startsWith('{') ? `${name}{${label},${rest.slice(1)}` : `${name}{${label}}${rest}`;
}
