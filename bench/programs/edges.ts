/**
 * The work of the pass-through with other edges: `node:http` or a listener on `node:net` in, undici or kept sockets
 * out. The arguments are the origin, both edges, how messages are written, and how their heads come about.
 */
import { throughNet, throughUndici } from './edges/client.ts';
import { forwardedHeads, knownHeads } from './edges/heads.ts';
import { listenHttp, listenNet, type Writing } from './edges/listener.ts';

const [origin = '', inward, outward, writing, heads] = process.argv.slice(2);
const how = writing as Writing;
const headsOf = () => (heads === 'known' ? knownHeads() : forwardedHeads);
const relay = outward === 'net' ? throughNet(origin, how, headsOf()) : throughUndici(origin);

if (inward === 'net') listenNet(relay, how, headsOf());
else listenHttp(relay, how);
