/** The data behind the greeting prompt, the phrasebook resources and their completions. */

const phrasebook = new Map([
  [
    'english',
    new Map([
      ['hello', 'Hello'],
      ['thanks', 'Thank you'],
      ['goodbye', 'Goodbye'],
    ]),
  ],
  [
    'french',
    new Map([
      ['hello', 'Bonjour'],
      ['thanks', 'Merci'],
      ['goodbye', 'Au revoir'],
    ]),
  ],
  [
    'german',
    new Map([
      ['hello', 'Guten Tag'],
      ['thanks', 'Danke'],
      ['goodbye', 'Auf Wiedersehen'],
    ]),
  ],
  [
    'greek',
    new Map([
      ['hello', 'Γειά σας'],
      ['thanks', 'Ευχαριστώ'],
    ]),
  ],
  [
    'spanish',
    new Map([
      ['hello', 'Hola'],
      ['thanks', 'Gracias'],
      ['goodbye', 'Adiós'],
    ]),
  ],
]);

export const languages: readonly string[] = [...phrasebook.keys()];

export function phrasesIn(language: string): readonly string[] {
  return [...(phrasebook.get(language)?.keys() ?? [])];
}

export function translate(language: string, phrase: string): string | undefined {
  return phrasebook.get(language)?.get(phrase);
}
