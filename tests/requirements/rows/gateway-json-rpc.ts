/** JSON-RPC services that are not MCP. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayJsonRpc = {
  'gateway:json-rpc:lossless': held({
    spec: 'gateway',
    behaviour:
      'What a client sends to a JSON-RPC endpoint, and what the service answers, pass as the bytes that they are; MCP’s rules about ids, params and methods do not apply.',
  }),
  'gateway:json-rpc:strict': held({
    spec: 'gateway',
    behaviour:
      'What two readers could understand in two ways, or is no JSON-RPC 2.0, is refused with `id: null` or its own id, and no byte goes on.',
  }),
  'gateway:json-rpc:one-way': held({
    spec: 'gateway',
    behaviour:
      'Notifications and answers of clients are handed over and told by the status alone; a denied notification is HTTP 403.',
  }),
  'gateway:json-rpc:answers-pass': held({
    spec: 'gateway',
    behaviour: 'An answer of a client has no method, and passes without a rule, whatever the policy.',
  }),
  'gateway:json-rpc:method-rules': held({
    spec: 'gateway',
    behaviour: 'Rules speak of methods by name or pattern; as soon as there is a policy, what none allows is denied.',
  }),
  'gateway:json-rpc:params-rules': held({
    spec: 'gateway',
    behaviour:
      'Rules look at params by name. Where they come by position, rules that allow do not hold and rules that deny do.',
  }),
  'gateway:json-rpc:batch-served': held({
    spec: 'gateway',
    behaviour: 'A batch is decided member by member, goes on as one, and its array is passed back.',
  }),
  'gateway:json-rpc:batch-one-denial': held({
    spec: 'gateway',
    behaviour: 'One denial denies a whole batch: each of its requests is told, in one array, and no byte goes on.',
  }),
  'gateway:json-rpc:batch-refused': held({
    spec: 'gateway',
    behaviour: 'Where the endpoint denies batches, an array is refused unread.',
  }),
  'gateway:json-rpc:post-alone': held({
    spec: 'gateway',
    behaviour: 'A JSON-RPC endpoint takes POST; all else is 405.',
  }),
  'gateway:json-rpc:service-failures': held({
    spec: 'gateway',
    behaviour:
      'A service that is away, slow, endless or says what is no JSON-RPC is a named failure, in an array where a batch was sent.',
  }),
  'gateway:json-rpc:cancelled': held({
    spec: 'gateway',
    behaviour: 'When the client goes away, so does the request to the service.',
  }),
  'gateway:json-rpc:rates-and-records': held({
    spec: 'gateway',
    behaviour: 'Rates are counted by method, and every member of a batch has a record of its own.',
  }),
  'gateway:json-rpc:stopping': held({
    spec: 'gateway',
    behaviour: 'A gateway that stops lets what is with a service finish for a while, and tells what does not.',
  }),
  'gateway:json-rpc:guarded': held({
    spec: 'gateway',
    behaviour: 'A JSON-RPC endpoint asks who is calling as every other does, for notifications and batches too.',
  }),
} as const satisfies Record<string, Requirement>;
