/**
 * A client of a merged endpoint that uses one of its backends. It adds the prefix of the backend to each name that it
 * sends, and removes it from each name that it gets.
 */
import type { Json } from '../harness/client.ts';
import type { Speaker } from '../matrix/speakers.ts';

const lists = ['tools', 'prompts', 'resources', 'resourceTemplates'];

export function among(speaker: Speaker, backend: string): Speaker {
  const name = `${backend}__`;
  const address = `bascule:${backend}/`;
  const there = (params: Json): Json => ({
    ...params,
    ...(typeof params.name === 'string' && { name: name + params.name }),
    ...(typeof params.uri === 'string' && { uri: address + params.uri }),
    ...(params.ref !== undefined && { ref: there(params.ref) }),
  });
  const back = (value: Json): Json => {
    if (typeof value === 'string') return [name, address].reduce((text, mark) => text.replace(mark, ''), value);
    if (Array.isArray(value)) return value.map(back);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries<Json>(value).map(([key, member]) => [key, back(member)]));
  };
  const own = (result: Json): Json => {
    if (typeof result !== 'object' || result === null) return result;
    const mine = ({ name: text = '', uri = '', uriTemplate = '' }: Json) =>
      text.startsWith(name) || uri.startsWith(address) || uriTemplate.startsWith(address);
    const kept = Object.entries<Json>(result).map(([key, value]) => [
      key,
      lists.includes(key) && Array.isArray(value) ? value.filter(mine) : value,
    ]);
    return back(Object.fromEntries(kept));
  };
  return {
    era: speaker.era,
    greeting: speaker.greeting,
    get told() {
      return speaker.told.map(back);
    },
    request: async (method, params = {}, wish) => {
      const came = await speaker.request(method, there(params), wish);
      const { result, error, told } = came;
      return {
        ...came,
        told: told.map(back),
        ...(result && { result: own(result) }),
        ...(error && { error: back(error) }),
      };
    },
    listen: (uris) => speaker.listen(uris.map((uri) => address + uri)),
    hears: async (method, fits) => back(await speaker.hears(method, fits && ((params) => fits(back(params))))),
  };
}
