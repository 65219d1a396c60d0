/** `replicas`: where the processes of one gateway reach each other. */
import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { describeConfig } from '../../src/config/describe.ts';
import { verifies } from '../requirements/verifies.ts';
import { complaintsAbout, configOf } from './loading.ts';

const shared = `seal: { key: ${'k'.repeat(32)} }\nstore: { url: redis://cache }\n`;
const withReplicas = (replicas: string, rest = shared) => `backends: {}\n${rest}replicas: ${replicas}\n`;

describe('replicas', verifies('gateway:replicas:config'), () => {
  it.each([
    { name: 'an address', given: "{ listen: '10.0.0.5:8810' }", at: '10.0.0.5:8810' },
    { name: 'all addresses: the name of the machine', given: "{ listen: '0.0.0.0:8810' }", at: `${hostname()}:8810` },
    { name: 'what the others use', given: "{ listen: '0.0.0.0:8810', advertise: 'pod-1:99' }", at: 'pod-1:99' },
  ])('are reached at $name', ({ given, at }) => {
    expect(describeConfig(configOf(withReplicas(given)))).toContain(`this one is reached at ${at}\n`.trim());
  });

  it.each([
    {
      name: 'without a store in Redis',
      text: withReplicas("{ listen: '10.0.0.5:8810' }", ''),
      why: 'needs `store.url`',
    },
    { name: 'without `listen`', text: withReplicas('{}'), why: '`listen` is missing' },
    { name: 'without a port', text: withReplicas("{ listen: '10.0.0.5' }"), why: 'an address with a port' },
    {
      name: 'with an address that is no host and port',
      text: withReplicas("{ listen: '10.0.0.5:8810', advertise: 'https://pod' }"),
      why: 'a host or address with a port',
    },
  ])('are refused $name', ({ text, why }) => {
    expect(complaintsAbout(text)).toContain(why);
  });
});
