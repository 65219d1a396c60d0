/** What nobody on the way understands arrives as it was sent, in both directions, whatever the eras. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import type { StreamedEvent } from '../harness/client.ts';
import { pairs, pass } from './setup.ts';

/** Each is a list of members that a parser and a serialiser would bring back in another form. */
const texts = {
  'gateway:lossless:unknown-members':
    '"com.example/odd":{"deep":[{"er":null}]},"":"","__proto__":{"x":1},"résumé":true',
  'gateway:lossless:number-spelling':
    '"arguments":{"big":12345678901234567890,"one":1.0,"exp":1E+2,"tiny":1e-400,"huge":1e400,"zero":-0,"long":0.1000000000000000055511151231257827}',
  'gateway:lossless:key-order': '"z":1,"arguments":{"z":1,"10":2,"9":3,"a":4,"constructor":5},"a":2,"0":3',
  'gateway:lossless:string-escapes':
    '"arguments":{"s":"\\u00e9\\/\\u0041\\ud83d\\ude00\\t\\u0009","\\u006bey":"\\u2028\u2028é"}',
} as const;

describe.each(pairs)('from a $client client to a $backend backend and back', ({ client, backend }) => {
  for (const [id, text] of Object.entries(texts)) {
    const title = id.slice('gateway:lossless:'.length).replace('-', ' ');
    it(`survive: ${title}`, verifies(id as keyof typeof texts), async () => {
      const { answer, received } = await pass(client, backend, { params: text, result: text });
      expect(received.text).toContain(`"params":{"name":"t",${text}`);
      expect(answer.body).toContain(`"result":{${text}`);
    });

    it(`survive in a list: ${title}`, verifies(id as keyof typeof texts), async () => {
      const content = `"content":[{"type":"text","text":"x",${text}}], "structuredContent" : { ${text} }`;
      const { answer } = await pass(client, backend, { result: content });
      expect(answer.body).toContain(`"result":{${content}`);
    });

    it(`survive in messages before the result: ${title}`, verifies(id as keyof typeof texts), async () => {
      const said = `{"jsonrpc":"2.0","method":"notifications/example.com/note","params":{${text}}}`;
      const { answer } = await pass(client, backend, { says: () => [said] });
      expect(answer.events.map((event) => event.data)).toContain(said);
    });
  }

  const trace =
    '"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=\\u0031,b=2","baggage":"k=%20v"';

  it('survive: trace context', verifies('gateway:lossless:trace-context'), async () => {
    const noted = (token: unknown) =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"_meta":{${trace}},"progressToken":${token},"progress":1.0,"x":{}}}`;
    const { answer, received } = await pass(client, backend, {
      meta: `${trace},"progressToken":"p"`,
      result: `"_meta":{${trace}},"content":[]`,
      says: (turn) => [noted(JSON.stringify(turn.message.id))],
    });
    expect(received.text).toContain(`"_meta":{${trace}`);
    const data = (event: StreamedEvent | undefined) => event?.data ?? '';
    const told = answer.events.filter((event) => event.data);
    expect(data(told[0])).toBe(noted('"p"'));
    expect(data(told[1])).toContain(`"_meta":{${trace}`);
  });
});
