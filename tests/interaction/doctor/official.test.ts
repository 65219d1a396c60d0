/** `doctor` and `check` against servers of the official TypeScript SDKs, bare and through the gateway. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { startGateway } from '../harness/gateway.ts';
import { plainV1, startV1, startV2 } from '../harness/sdk-servers.ts';
import { startSseV1 } from '../harness/sdk-sse-server.ts';
import { furnishedV1, furnishedV2 } from './furnished.ts';
import { at, broken, check, complaints, doctor, failures } from './inspect.ts';

const call = { tool: 'echo', args: { text: 'hello' } };

describe('doctor', verifies('gateway:doctor:official-servers'), () => {
  it('goes through all steps with a v1 server, in the legacy era', async () => {
    const { url } = await startV1(furnishedV1);
    const reports = await doctor(at(url), { call });
    expect(failures(reports)).toEqual([]);
    expect(stateOf(reports, 'initialize')).toBe('ok');
    expect(stateOf(reports, 'discover')).toBe('skipped');
    expect(stateOf(reports, 'call')).toBe('ok');
  });

  it('goes through all steps with a v2 server, in the modern era', async () => {
    const { url } = await startV2(furnishedV2);
    const reports = await doctor(at(url), { call });
    expect(failures(reports)).toEqual([]);
    expect(stateOf(reports, 'discover')).toBe('ok');
    expect(stateOf(reports, 'initialize')).toBe('skipped');
    expect(stateOf(reports, 'call')).toBe('ok');
  });

  it('falls back to HTTP+SSE with a v1 server that knows nothing else', async () => {
    const { url } = await startSseV1(() =>
      plainV1({ capabilities: { tools: {} } }, { 'tools/list': () => ({ tools: [] }) }),
    );
    const reports = await doctor(at(url), {});
    expect(failures(reports)).toEqual([]);
    expect(stateOf(reports, 'http+sse')).toBe('ok');
    expect(stateOf(reports, 'list')).toBe('ok');
  });

  for (const version of ['v1', 'v2'] as const) {
    it(`opens both eras of a gateway in front of a ${version} server`, async () => {
      const { url } = version === 'v1' ? await startV1(furnishedV1) : await startV2(furnishedV2);
      const gateway = await startGateway({ backends: { b: { url } } });
      const reports = await doctor(at(gateway.url()), { call });
      expect(failures(reports)).toEqual([]);
      expect(['discover', 'initialize', 'list', 'call', 'end'].map((step) => stateOf(reports, step))).toEqual(
        Array.from({ length: 5 }, () => 'ok'),
      );
    });
  }
});

function stateOf(reports: Awaited<ReturnType<typeof doctor>>, name: string): string | undefined {
  return reports.find(({ step }) => step === name)?.state;
}

/** Rules that the SDKs break with these servers, as of the versions in package.json. */
const deviations = {
  v1: [
    'legacy protocol:error:invalid-params should',
    'legacy pagination:invalid-cursor should',
    'legacy tools:call:unknown-name should',
    'legacy resources:read:unknown-uri#legacy should',
    'legacy transport:streamable-http:origin-validation must',
    'legacy gateway:gates:id-absent should',
    'legacy gateway:legacy:batch-refused should',
  ],
  v2: [
    'modern pagination:invalid-cursor should',
    'modern transport:streamable-http:origin-validation must',
    'modern gateway:gates:id-absent should',
    'modern hosting:http:accept-406 should',
  ],
} as const;

/** What a backend answers passes through: the gateway changes neither its results nor its errors. */
const passedOn = {
  v1: [
    'modern pagination:invalid-cursor should',
    'modern tools:call:unknown-name should',
    'legacy protocol:error:invalid-params should',
    'legacy pagination:invalid-cursor should',
    'legacy tools:call:unknown-name should',
    'legacy resources:read:unknown-uri#legacy should',
  ],
  v2: ['modern pagination:invalid-cursor should', 'legacy pagination:invalid-cursor should'],
} as const;

describe('check', verifies('gateway:check:official-servers'), () => {
  for (const version of ['v1', 'v2'] as const) {
    it(`reports the known deviations of a ${version} server, and no others`, async () => {
      const { url } = version === 'v1' ? await startV1(furnishedV1) : await startV2(furnishedV2);
      const reports = await check(at(url));
      expect(broken(reports), complaints(reports).join('\n\n')).toEqual(deviations[version]);
    });

    it(`finds through a gateway only what a ${version} server answers itself`, async () => {
      const { url } = version === 'v1' ? await startV1(furnishedV1) : await startV2(furnishedV2);
      const gateway = await startGateway({ backends: { b: { url } } });
      const reports = await check(at(gateway.url()));
      expect(broken(reports), complaints(reports).join('\n\n')).toEqual(passedOn[version]);
    });
  }

  it('calls no tool, unless it is named', verifies('gateway:check:no-tool-called'), async () => {
    const calls = { count: 0 };
    const { url } = await startV2(() => furnishedV2(calls));
    await check(at(url));
    await doctor(at(url));
    expect(calls.count).toBe(0);
    await check(at(url), { call });
    // With a progress token, and without one.
    expect(calls.count).toBe(2);
  });
});
