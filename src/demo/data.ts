/** What the demo server shows: its introduction, a picture, a sound and a phrasebook. */

/** A beam on its pivot, 32 by 32 pixels. */
export const logo =
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAMAAABEpIrGAAAACVBMVEX///8oRnjSeCiwyLHGAAAAA3RSTlMA//9EUNYhAAAATklEQVR42uXO' +
  'QQoAIQwEQXv+/2gFEZYlzngUzMnQRbC150eSrwZojY1lt1XH1R/G5bEAOzCXHVhvKMT3UyX4dycSgCASAC8giAQgnrh2OnblATDu+oukAAAAAElF' +
  'TkSuQmCC';

const rate = 8000;
/** The header of a WAV file with 800 samples: mono, 8 bits a sample, 8000 samples a second. */
const header = '524946464403000057415645666d74201000000001000100401f0000401f0000010008006461746120030000';
/** A tenth of a second of concert pitch. */
const samples = Array.from({ length: rate / 10 }, (_, at) => 128 + 100 * Math.sin((2 * Math.PI * 440 * at) / rate));
export const tone = Buffer.concat([Buffer.from(header, 'hex'), Buffer.from(samples)]).toString('base64');

export const icons = [{ src: `data:image/png;base64,${logo}`, mimeType: 'image/png', sizes: ['32x32'] }];

/** Short, because every modern result carries it. */
export const identity = { name: 'bascule-demo', title: 'Bascule demo server', version: '1.0.0' };

export const serverInfo = {
  ...identity,
  description: 'One of everything that an MCP server can show to a client, in every protocol revision',
  icons,
};

export const capabilities = {
  completions: {},
  logging: {},
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  tools: { listChanged: true },
};

export const instructions =
  'A server to try a client or a gateway with. Start with the tool echo. count reports progress and can be cancelled; ' +
  'ask_name, ask_url, two_questions, interview, summarise and list_roots ask you something in the middle of the call; ' +
  'touch_note and the toggle tools send notifications.';

const phrases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  english: { hello: 'Hello', thanks: 'Thank you', goodbye: 'Goodbye' },
  french: { hello: 'Bonjour', thanks: 'Merci', goodbye: 'Au revoir' },
  german: { hello: 'Guten Tag', thanks: 'Danke', goodbye: 'Auf Wiedersehen' },
  greek: { hello: 'Γειά σας', thanks: 'Ευχαριστώ' },
  spanish: { hello: 'Hola', thanks: 'Gracias', goodbye: 'Adiós' },
};
/** Maps, so that a client cannot look up the properties that every object has. */
const phrasebook = new Map(
  Object.entries(phrases).map(([language, said]) => [language, new Map(Object.entries(said))]),
);

export const languages: readonly string[] = [...phrasebook.keys()];

export function phrasesIn(language: string): readonly string[] {
  return [...(phrasebook.get(language)?.keys() ?? [])];
}

export function translate(language: string, phrase: string): string | undefined {
  return phrasebook.get(language)?.get(phrase);
}
