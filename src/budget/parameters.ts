/** The words of a tool's arguments, for searching. */
import { isObject } from '../wire/values.ts';

const DEEPEST = 6;
/** Characters: more says nothing new of a tool. */
const MOST = 2_000;

export function parameterText(inputSchema: unknown): string {
  const parts: string[] = [];
  let size = 0;
  const say = (text: unknown): void => {
    if (typeof text !== 'string' || size > MOST) return;
    parts.push(text);
    size += text.length;
  };
  const read = (schema: unknown, depth: number): void => {
    if (!isObject(schema) || depth > DEEPEST || size > MOST) return;
    const { properties, items, anyOf, oneOf, allOf } = schema;
    if (isObject(properties)) {
      for (const [key, one] of Object.entries(properties)) {
        if (size > MOST) return;
        say(key);
        if (isObject(one)) say(one.description);
        if (isObject(one) && Array.isArray(one.enum)) one.enum.slice(0, MOST).forEach(say);
        read(one, depth + 1);
      }
    }
    for (const list of [[items], anyOf, oneOf, allOf]) {
      for (const one of Array.isArray(list) ? list : []) {
        if (size > MOST) return;
        if (isObject(one)) say(one.const);
        read(one, depth + 1);
      }
    }
  };
  read(inputSchema, 0);
  return parts.join(' ');
}
