/** `resources/list`, `resources/templates/list` and `resources/read`. */
import { accepted, nameForm } from './asks.ts';
import { type Call, type Item, listed, offered } from './call.ts';
import { languages, logo, phrasesIn, tone, translate } from './data.ts';
import { codes, Failure, type JsonObject, textOf } from './message.ts';
import { noteUri, type World } from './world.ts';

type Contents = { readonly text: string } | { readonly blob: string };

interface Resource extends Item {
  readonly definition: JsonObject & { readonly uri: string; readonly mimeType: string };
  readonly read: (world: World) => Contents;
}

type Variables = { readonly [name: string]: string };

export interface Template extends Item {
  readonly definition: JsonObject & { readonly uriTemplate: string; readonly mimeType: string };
  /** Suggestions by variable, given the values that are settled already. */
  readonly completions: { readonly [variable: string]: (settled: JsonObject) => readonly string[] };
  readonly read: (variables: Variables, call: Call) => Contents | undefined | Promise<Contents | undefined>;
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/resources#error-handling */
export class ResourceNotFound extends Failure {
  constructor(uri: string) {
    super(codes.invalidParams, 'Resource not found', { uri });
  }
}

/** So small that there is a second page. */
const resourcePageSize = 3;

const resources: readonly Resource[] = [
  {
    definition: { uri: 'demo://about', name: 'about', title: 'About this server', mimeType: 'text/markdown' },
    read: () => ({ text: '# The demo server\n\nOne of everything that a server can show to a client.\n' }),
  },
  {
    definition: {
      uri: noteUri,
      name: 'note',
      title: 'The note',
      description: 'Changes when somebody calls touch_note; can be subscribed to',
      mimeType: 'text/plain',
      annotations: { audience: ['user', 'assistant'], priority: 1 },
    },
    read: (world) => ({ text: world.note }),
  },
  {
    definition: { uri: 'demo://logo', name: 'logo', title: 'A picture', mimeType: 'image/png' },
    read: () => ({ blob: logo }),
  },
  {
    definition: { uri: 'demo://tone', name: 'tone', title: 'A sound', mimeType: 'audio/wav' },
    read: () => ({ blob: tone }),
  },
  {
    definition: { uri: 'demo://languages', name: 'languages', title: 'Languages', mimeType: 'application/json' },
    read: () => ({ text: JSON.stringify(languages) }),
  },
  {
    extra: 'resources',
    definition: {
      uri: 'demo://extra',
      name: 'extra',
      title: 'There while toggle_resource says so',
      mimeType: 'text/plain',
    },
    read: () => ({ text: 'Here I am' }),
  },
];

export const templates: readonly Template[] = [
  {
    definition: {
      uriTemplate: 'demo://phrasebook/{language}/{phrase}',
      name: 'phrasebook',
      title: 'Phrasebook',
      description: 'A phrase in a language',
      mimeType: 'text/plain',
    },
    completions: {
      language: () => languages,
      phrase: ({ language }) => (typeof language === 'string' ? phrasesIn(language) : languages.flatMap(phrasesIn)),
    },
    read: ({ language = '', phrase = '' }) => {
      const text = translate(language, phrase);
      return text === undefined ? undefined : { text };
    },
  },
  {
    since: '2025-06-18',
    definition: {
      uriTemplate: 'demo://letter/{language}',
      name: 'letter',
      title: 'A letter to you',
      description: 'Asks for your name when it is read',
      mimeType: 'text/plain',
    },
    completions: { language: () => languages },
    read: async ({ language = '' }, { ask }) => {
      const hello = translate(language, 'hello');
      if (hello === undefined) return undefined;
      const { name } = await ask({ name: nameForm });
      return { text: `${hello}, ${accepted(name)?.name ?? 'whoever you are'}!` };
    },
  },
];

export function isListed(uri: string, world: World): boolean {
  return resources.some(({ definition, extra }) => definition.uri === uri && (extra === undefined || world.has(extra)));
}

export function listResources(call: Call): JsonObject {
  return listed('resources', 'uri', resources, call, resourcePageSize);
}

export function listTemplates(call: Call): JsonObject {
  return listed('resourceTemplates', 'uriTemplate', templates, call);
}

/** Only `{variable}` is understood, as a whole path segment: the simplest form of RFC 6570. */
function match(uriTemplate: string, uri: string): Variables | undefined {
  const pattern = uriTemplate.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/?#]+)');
  const groups = new RegExp(`^${pattern}$`).exec(uri)?.groups;
  if (groups === undefined) return undefined;
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    // A stray percent sign: no value that we could have meant.
    return undefined;
  }
}

async function contentsOf(uri: string, call: Call): Promise<JsonObject> {
  const resource = offered(resources, call).find(({ definition }) => definition.uri === uri);
  if (resource !== undefined) return { uri, mimeType: resource.definition.mimeType, ...resource.read(call.world) };
  for (const { definition, read } of offered(templates, call)) {
    const variables = match(definition.uriTemplate, uri);
    const contents = variables === undefined ? undefined : await read(variables, call);
    if (contents !== undefined) return { uri, mimeType: definition.mimeType, ...contents };
  }
  throw new ResourceNotFound(uri);
}

export async function readResource(call: Call): Promise<JsonObject> {
  return { contents: [await contentsOf(textOf(call.params, 'uri'), call)] };
}
