/** Records that outlive the process, and requests to addresses that other parties chose. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayStore = {
  'gateway:store:records': held({
    spec: 'gateway',
    behaviour: 'Records are kept, ended, taken once, replaced by comparison and listed in the same way by every store.',
  }),
  'gateway:store:durable': held({
    spec: 'gateway',
    behaviour: 'A record that was written to a file survives the kill of the process, and no record is there in part.',
  }),
  'gateway:store:processes': held({
    spec: 'gateway',
    behaviour: 'Several processes share one directory: a record is taken, replaced and a lease held by one of them.',
  }),
  'gateway:store:named-errors': held({
    spec: 'gateway',
    behaviour: 'A foreign or short file, a full disk and an unusable directory are errors that say what to do.',
  }),
  'gateway:store:private': held({
    spec: 'gateway',
    behaviour: 'Only the user who runs the gateway has access to the directory, the files and the key in it.',
  }),
  'gateway:store:sealed': held({
    spec: 'gateway',
    behaviour: 'Values at rest are sealed for their collection and key; one that does not open counts as absent.',
  }),
  'gateway:store:redis-config': held({
    spec: 'gateway',
    behaviour:
      'The address of Redis is checked with the config, and neither errors nor descriptions show its password.',
  }),
  'gateway:store:redis-degraded': held({
    spec: 'gateway',
    behaviour:
      'While Redis is away, slow, read-only or refuses the password, what needs it fails by name; it heals by itself.',
  }),
  'gateway:store:redis-restart': held({
    spec: 'gateway',
    behaviour:
      'Redis restarted with its data has lost nothing; restarted empty it has another epoch, and streams have gaps.',
  }),
  'gateway:store:redis-forged': held({
    spec: 'gateway',
    behaviour: 'Who can write to Redis can inject no record, event, message, lease or epoch, and reads no value.',
  }),
  'gateway:store:redis-tls': held({
    spec: 'gateway',
    behaviour: 'With `rediss://` the certificate of Redis is verified; one that is not good is refused by name.',
  }),
  'gateway:store:redis-failover': held({
    spec: 'gateway',
    behaviour:
      'When a replica has taken over, the gateway goes on with it, with what was replicated, and without a restart.',
  }),
  'gateway:store:redis-gateways': held({
    spec: 'gateway',
    behaviour:
      'Gateways with one Redis share records, messages and leases; without Redis, calls and open sessions go on.',
  }),
  'gateway:outward:address': held({
    spec: '2025-11-25/basic/authorization#security-considerations',
    behaviour:
      'A URL from a client or backend opens no connection to an internal address, however it is spelled or resolved.',
  }),
  'gateway:outward:bounds': held({
    spec: 'gateway',
    behaviour: 'A request to such a URL follows no redirect and is bounded in time, size and number.',
  }),
} satisfies Record<string, Requirement>;
