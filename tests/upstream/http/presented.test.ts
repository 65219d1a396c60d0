import { afterEach, describe, expect, it } from 'vitest';
import { Failure } from '../../../src/errors/failure.ts';
import type {
  CredentialHeaders,
  CredentialProvider,
  UpstreamRefusal,
} from '../../../src/oauth/client/credential-provider.ts';
import { HttpPools } from '../../../src/upstream/http/pool.ts';
import { presentedPools } from '../../../src/upstream/http/presented.ts';
import { RequestRecorder, StandaloneRecorder } from '../support/recorders.ts';
import {
  type Answer,
  json,
  openChannel,
  poolLimits,
  request,
  result,
  ScriptedBackend,
  sse,
} from '../support/scripted-http.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Hands out the given tokens, one after the other, as each is refused. */
class Tokens implements CredentialProvider {
  readonly refusals: UpstreamRefusal[] = [];
  readonly #tokens: readonly string[];
  readonly #isLate: boolean;
  #given: CredentialHeaders;

  constructor(tokens: readonly string[], isLate = false) {
    this.#tokens = tokens;
    this.#isLate = isLate;
    this.#given = { authorization: `Bearer ${tokens[0]}` };
  }

  headers(): CredentialHeaders | Promise<CredentialHeaders> {
    return this.#isLate ? Promise.resolve(this.#given) : this.#given;
  }

  async refused(refusal: UpstreamRefusal): Promise<void> {
    this.refusals.push(refusal);
    const next = this.#tokens[this.refusals.length];
    if (next === undefined) throw new Failure('consent_needed', { data: { url: 'https://gw.example/connect/1' } });
    this.#given = { authorization: `Bearer ${next}` };
  }
}

const challenge = 'Bearer resource_metadata="https://b.example/.well-known/oauth-protected-resource"';
const refuse = (status: number, headers: Record<string, string> = { 'www-authenticate': challenge }): Answer =>
  json(status, '{"error":"invalid_token"}', headers);

async function presenting(
  answers: readonly Answer[],
  presenter: CredentialProvider,
  configured: CredentialHeaders = {},
) {
  const backend = new ScriptedBackend(answers);
  const url = await backend.start();
  const pools = new HttpPools({ url }, poolLimits);
  const { channel } = openChannel(url, { pools: presentedPools(pools, presenter), headers: configured });
  ends.push(async () => {
    await channel.close();
    await pools.close();
    await backend.stop();
    expect(pools.calls.inFlight + pools.streams.inFlight + pools.oneWay.inFlight).toBe(0);
  });
  const send = async () => {
    const recorder = new RequestRecorder();
    channel.request(request(1), recorder);
    await recorder.settled();
    return recorder;
  };
  return { backend, channel, pools, send };
}

describe('the credentials of a principal', () => {
  it.each([
    { name: 'is sent with every request', late: false },
    { name: 'is waited for where it has to be fetched', late: true },
  ])('$name, in the place of a configured header of that name', async ({ late }) => {
    const { backend, send } = await presenting([json(200, result(1))], new Tokens(['a'], late), {
      Authorization: 'Basic x',
      'x-team': 'blue',
    });
    expect((await send()).endings).toEqual(['answered']);
    expect(backend.heard[0]?.headers).toMatchObject({ authorization: 'Bearer a', 'x-team': 'blue' });
  });

  it('new credentials as soon as they are given', async () => {
    let headers: Record<string, string> = { authorization: 'Bearer old' };
    const provider: CredentialProvider = { headers: () => headers, refused: async () => undefined };
    const { backend, send } = await presenting([json(200, result(1))], provider);
    for (const token of ['Bearer old', 'Bearer new']) {
      headers = { authorization: token };
      await send();
      expect(backend.heard.at(-1)?.headers.authorization).toBe(token);
    }
  });

  it.each([
    { name: 'a 401', status: 401 },
    { name: 'a 403 with a challenge', status: 403 },
  ])('is bettered after $name, and the request is sent again as it was', async ({ status }) => {
    const tokens = new Tokens(['old', 'new']);
    const { backend, send } = await presenting([refuse(status), json(200, result(1))], tokens);
    expect((await send()).endings).toEqual(['answered']);
    expect(backend.heard.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new']);
    expect(new Set(backend.heard.map(({ body }) => body)).size).toBe(1);
    expect(tokens.refusals).toEqual([
      { status, wwwAuthenticate: [challenge], presented: { authorization: 'Bearer old' } },
    ]);
  });

  it('are not changed by a 403 without a challenge, which is the response', async () => {
    const tokens = new Tokens(['a', 'b']);
    const error = '{"jsonrpc":"2.0","id":1,"error":{"code":403,"message":"no"}}';
    const { send } = await presenting([json(403, error)], tokens);
    expect((await send()).endings).toEqual(['answered']);
    expect(tokens.refusals).toEqual([]);
  });

  it('are replaced as soon as the challenge is known, however long its body takes', async () => {
    const endless: Answer = (response) => {
      response.writeHead(401, { 'content-type': 'application/json', 'www-authenticate': challenge });
      response.write('{');
    };
    const { backend, send } = await presenting([endless, json(200, result(1))], new Tokens(['old', 'new']));
    expect((await send()).endings).toEqual(['answered']);
    await backend.closed(0);
  });

  it('end in the failure that says why there are no better ones', async () => {
    const { send } = await presenting([refuse(401)], new Tokens(['a']));
    const recorder = await send();
    expect(recorder.endings).toEqual(['failed consent_needed']);
    expect(recorder.failure?.data).toEqual({ url: 'https://gw.example/connect/1' });
  });

  it('are tried a bounded number of times, whatever the provider returns', async () => {
    const { backend, send } = await presenting([refuse(401)], new Tokens(['a', 'b', 'c', 'd', 'e', 'f', 'g']));
    expect((await send()).endings).toEqual(['failed backend_unavailable']);
    expect(backend.heard).toHaveLength(4);
  });

  it('is not waited for by more requests than the backend may have', async () => {
    const never: CredentialProvider = { headers: () => new Promise(() => undefined), refused: async () => undefined };
    const { channel } = await presenting([json(200, result(1))], never);
    const most = poolLimits.connections + poolLimits.queue;
    for (let count = 0; count < most; count += 1) channel.request(request(count), new RequestRecorder());
    const late = new RequestRecorder();
    channel.request(request(most), late);
    await late.settled();
    expect(late.endings).toEqual(['failed backend_busy']);
  });

  it('is bettered for streams and handovers alike', async () => {
    const tokens = new Tokens(['a', 'b', 'c']);
    const { backend, channel } = await presenting([refuse(401), sse(), refuse(401), json(202, '')], tokens);
    await channel.listen({}, new StandaloneRecorder());
    await channel.post(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'), {});
    expect(backend.heard.map(({ method, headers }) => `${method} ${headers.authorization}`)).toEqual([
      'GET Bearer a',
      'GET Bearer b',
      'POST Bearer b',
      'POST Bearer c',
    ]);
  });
});
