import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { uriPlacesIn } from '../../src/catalog/extension-uris.ts';
import { renamed, targetOf, withClientUris } from '../../src/catalog/requests.ts';
import { Failure } from '../../src/errors/failure.ts';
import { awkwardJson, awkwardText, holds, spell, spelling } from '../wire/property.ts';
import { answer, received, row, text } from './listed.ts';

const clientUri = (uri: string): string | undefined => (uri.startsWith('s:') ? `bascule:a/${uri}` : undefined);
const uris = { backend: 'a', places: uriPlacesIn('tools/call'), rename: () => clientUri };
const renamedResult = (result: string): string => {
  const { bytes, result: span } = withClientUris(answer(result), uris);
  return text(bytes.subarray(span.start, span.end));
};

describe('URIs in a result', () => {
  const cases = [
    {
      name: 'of a link',
      input: '{"content":[ {"type":"resource_link", "uri" : "s:\\u0031","x":1.0} ]}',
      expect: '{"content":[ {"type":"resource_link", "uri" : "bascule:a/s:1","x":1.0} ]}',
    },
    {
      name: 'of an embedded resource',
      input: '{"content":[{"type":"text","text":"t"},{"type":"resource","resource":{"uri":"s:1","text":"s:1"}}]}',
      expect:
        '{"content":[{"type":"text","text":"t"},{"type":"resource","resource":{"uri":"bascule:a/s:1","text":"s:1"}}]}',
    },
    {
      name: 'in a prompt, one block and several',
      input:
        '{"messages":[{"role":"user","content":{"type":"resource_link","uri":"s:1"}},{"content":[{"type":"resource","resource":{"uri":"s:2"}}]}]}',
      expect:
        '{"messages":[{"role":"user","content":{"type":"resource_link","uri":"bascule:a/s:1"}},{"content":[{"type":"resource","resource":{"uri":"bascule:a/s:2"}}]}]}',
    },
    {
      name: 'of the resource that was read',
      input: '{"contents":[{"uri":"s:1","text":""},{"uri":"t:1","blob":""}]}',
      expect: '{"contents":[{"uri":"bascule:a/s:1","text":""},{"uri":"t:1","blob":""}]}',
    },
    {
      name: 'that stand twice',
      input: '{"contents":[{"uri":"s:1","uri":"s:2"}]}',
      expect: '{"contents":[{"uri":"bascule:a/s:1","uri":"bascule:a/s:2"}]}',
    },
    {
      name: 'with a type that is spelled with escapes',
      input: '{"content":[{"type":"\\u0072esource_link","uri":"s:1"}]}',
      expect: '{"content":[{"type":"\\u0072esource_link","uri":"bascule:a/s:1"}]}',
    },
  ];
  for (const { name, input, expect: expected } of cases) {
    it(`are the client’s: ${name}`, () => expect(renamedResult(input)).toBe(expected));
  }

  const untouched = [
    { name: 'without one', input: '{"content":[{"type":"text","text":"\\"uri\\":\\"s:1\\""}]}' },
    { name: 'with no URI to rename', input: '{"content":[{"type":"resource_link","uri":"t:1"}]}' },
    { name: 'with one in another kind of content', input: '{"content":[{"type":"text","uri":"s:1"}]}' },
    { name: 'with one in structured content', input: '{"structuredContent":{"uri":"s:1"},"content":[]}' },
    { name: 'with one in _meta', input: '{"_meta":{"content":[{"type":"resource_link","uri":"s:1"}]}}' },
    { name: 'with one that is no string', input: '{"contents":[{"uri":1},{"uri":null},{"uri":{}},7,[]]}' },
    { name: 'with a member that is spelled with escapes', input: '{"contents":[{"\\u0075ri":"s:1"}]}' },
    { name: 'with something else in the place of a list', input: '{"contents":{"uri":"s:1"},"messages":"uri"}' },
    { name: 'that is no JSON', input: '{"contents":[{"uri":"s:1"} {"uri":"s:2"}]}' },
  ];
  for (const { name, input } of untouched) {
    it(`leave the message unchanged: one ${name}`, () => {
      const message = answer(input);
      expect(withClientUris(message, uris)).toBe(message);
    });
  }

  it('never change the meaning of the rest of the document', () => {
    const block = fc.record({
      type: fc.constantFrom('resource_link', 'resource', 'text'),
      uri: fc.constantFrom('s:1', 't:1', 's:"\\'),
      resource: fc.record({ uri: fc.constantFrom('s:2', 't:2'), _meta: awkwardJson }),
      more: awkwardJson,
    });
    holds(
      fc.property(fc.array(block, { maxLength: 4 }), awkwardJson, spelling, (content, structured, how) => {
        const result = { structuredContent: structured, content };
        const expected = content.map((one) => ({
          ...one,
          uri: one.type === 'resource_link' ? (clientUri(one.uri) ?? one.uri) : one.uri,
          resource:
            one.type === 'resource'
              ? { ...one.resource, uri: clientUri(one.resource.uri) ?? one.resource.uri }
              : one.resource,
        }));
        const read: unknown = JSON.parse(renamedResult(spell(result, { ...how, escapes: false })));
        expect(read).toEqual(JSON.parse(JSON.stringify({ ...result, content: expected })));
        // With escapes nothing may break, even where it is missed.
        expect(() => JSON.parse(renamedResult(spell(result, { ...how, escapes: true })))).not.toThrow();
      }),
      200,
    );
  });
});

describe('a message under another name', () => {
  const cases = [
    {
      name: 'a tool',
      method: 'tools/call',
      input: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{ "name" : "a__x","arguments":{"name":1.0}}}',
      kind: 'tool',
      expect: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{ "name" : "é\\"","arguments":{"name":1.0}}}',
    },
    {
      name: 'a prompt',
      method: 'prompts/get',
      input: '{"id":"s","jsonrpc":"2.0","method":"prompts/get","params":{"_meta":{},"name":"a__x"}}',
      kind: 'prompt',
      expect: '{"id":"s","jsonrpc":"2.0","method":"prompts/get","params":{"_meta":{},"name":"é\\""}}',
    },
    {
      name: 'a resource',
      method: 'resources/read',
      input: '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a__x"}}',
      kind: 'resource',
      expect: '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"é\\""}}',
    },
    {
      name: 'the prompt of a completion',
      method: 'completion/complete',
      input:
        '{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a__x"},"argument":{"name":"n","value":"v"}}}',
      kind: 'prompt',
      expect:
        '{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"é\\""},"argument":{"name":"n","value":"v"}}}',
    },
    {
      name: 'the template of a completion',
      method: 'completion/complete',
      input:
        '{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"a__x"}}}',
      kind: 'resource',
      expect:
        '{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"é\\""}}}',
    },
    {
      name: 'a resource in a notification',
      method: 'notifications/resources/updated',
      input: '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a__x"}}',
      kind: 'resource',
      expect: '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"é\\""}}',
    },
  ];
  for (const { name, method, input, kind, expect: expected } of cases) {
    it(`differs only in the name: ${name}`, () => {
      const message = received(input);
      expect(targetOf(message, row(method))).toMatchObject({ kind, text: 'a__x' });
      const other = renamed(message, row(method), 'é"');
      expect(text(other.bytes)).toBe(expected);
      expect(other).toEqual({ ...received(expected), bytes: other.bytes });
      expect(renamed(message, row(method), 'a__x')).toBe(message);
    });
  }

  const nameless = [
    { name: 'no parameters', method: 'tools/call', params: '' },
    { name: 'a name that is no string', method: 'tools/call', params: ',"params":{"name":1}' },
    { name: 'no reference', method: 'completion/complete', params: ',"params":{"ref":"x"}' },
    {
      name: 'an unknown reference',
      method: 'completion/complete',
      params: ',"params":{"ref":{"type":"x","name":"y"}}',
    },
    { name: 'a method that names no item', method: 'tools/list', params: ',"params":{"name":"x"}' },
  ];
  for (const { name, method, params } of nameless) {
    it(`is refused where it has ${name}`, () => {
      const message = received(`{"jsonrpc":"2.0","id":1,"method":"${method}"${params}}`);
      expect(targetOf(message, row(method))).toBeUndefined();
      expect(() => renamed(message, row(method), 'y')).toThrow(new Failure('invalid_params'));
    });
  }

  it('is restored by the reverse mapping', () => {
    holds(
      fc.property(awkwardText, awkwardJson, spelling, (other, argument, how) => {
        const params = { arguments: { argument }, name: 'own', _meta: { argument } };
        const sent = spell({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }, how);
        // The name in the spelling in which it comes back.
        const plain = renamed(received(sent), row('tools/call'), 'x');
        const there = renamed(plain, row('tools/call'), other);
        expect(targetOf(there, row('tools/call'))?.text).toBe(other);
        // What is known of it is what a reader would find.
        expect(there).toEqual({ ...received(text(there.bytes)), bytes: there.bytes });
        expect(text(renamed(there, row('tools/call'), 'x').bytes)).toBe(text(plain.bytes));
      }),
      200,
    );
  });
});
