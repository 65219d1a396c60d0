/** JSON-RPC services that are not MCP. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayJsonRpc = {
  'gateway:json-rpc:lossless': held({
    spec: 'gateway',
    behaviour:
      'Requests to a JSON-RPC endpoint and answers of the service pass byte for byte; MCP’s rules about ids, params and methods do not apply.',
  }),
  'gateway:json-rpc:strict': held({
    spec: 'gateway',
    behaviour:
      'A message that two readers could understand in two ways, or that is no JSON-RPC 2.0, is refused with `id: null` or its own id, and no byte is forwarded.',
  }),
  'gateway:json-rpc:one-way': held({
    spec: 'gateway',
    behaviour:
      'Notifications and answers of clients are forwarded, and the HTTP status is the only answer; a denied notification is HTTP 403.',
  }),
  'gateway:json-rpc:answers-pass': held({
    spec: 'gateway',
    behaviour: 'An answer of a client has no method, and passes without a rule, whatever the policy.',
  }),
  'gateway:json-rpc:method-rules': held({
    spec: 'gateway',
    behaviour: 'Rules match methods by name or pattern; with a policy, a method that no rule allows is denied.',
  }),
  'gateway:json-rpc:params-rules': held({
    spec: 'gateway',
    behaviour:
      'Rules look at params by name. With params by position, rules that look at arguments do not match if they allow, and match if they deny.',
  }),
  'gateway:json-rpc:batch-served': held({
    spec: 'gateway',
    behaviour:
      'A batch is decided member by member and forwarded as one batch, and the array of answers is passed back.',
  }),
  'gateway:json-rpc:batch-one-denial': held({
    spec: 'gateway',
    behaviour:
      'One denial denies a whole batch: each of its requests is answered with the error, in one array, and no byte is forwarded.',
  }),
  'gateway:json-rpc:batch-refused': held({
    spec: 'gateway',
    behaviour: 'Where the endpoint denies batches, an array is refused unread.',
  }),
  'gateway:json-rpc:post-alone': held({
    spec: 'gateway',
    behaviour: 'A JSON-RPC endpoint accepts only POST; other HTTP methods are answered 405.',
  }),
  'gateway:json-rpc:service-failures': held({
    spec: 'gateway',
    behaviour:
      'If a service is down, is slow, never ends its answer or does not answer with JSON-RPC, the client gets a named failure, in an array if it sent a batch.',
  }),
  'gateway:json-rpc:cancelled': held({
    spec: 'gateway',
    behaviour: 'When the client disconnects, the request to the service is cancelled.',
  }),
  'gateway:json-rpc:rates-and-records': held({
    spec: 'gateway',
    behaviour: 'Rates are counted by method, and every member of a batch has a record of its own.',
  }),
  'gateway:json-rpc:stopping': held({
    spec: 'gateway',
    behaviour:
      'At shutdown, requests at a service have a limited time to finish, and those that do not are answered with an error.',
  }),
  'gateway:json-rpc:guarded': held({
    spec: 'gateway',
    behaviour:
      'A JSON-RPC endpoint authenticates callers like every other endpoint, for notifications and batches too.',
  }),
} as const satisfies Record<string, Requirement>;
