/** The object as JSON text, with one more member whose value is JSON text already, unless it is undefined. */
export function withMember(object: object, name: string, json: string | undefined): string {
  const text = JSON.stringify(object);
  if (json === undefined) return text;
  const separator = text === '{}' ? '' : ',';
  return `${text.slice(0, -1)}${separator}${JSON.stringify(name)}:${json}}`;
}
