/** Results of tools that the gateway gives itself, in their modern form. */

/** The model reads it, and can call again. */
export function toolError(text: string): object {
  return { content: [{ type: 'text', text }], isError: true, resultType: 'complete' };
}

/** `note`: what a model should know that no program needs. */
export function structuredResult(value: object, note?: string): object {
  const texts = [JSON.stringify(value), ...(note === undefined ? [] : [note])];
  return { content: texts.map((text) => ({ type: 'text', text })), structuredContent: value, resultType: 'complete' };
}
