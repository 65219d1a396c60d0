/**
 * What every revision meets first: which era a message is, the order of the gates, HTTP, and JSON that can be read in
 * one way only.
 */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayFront = {
  'gateway:ingress:turns': held({
    spec: 'gateway',
    behaviour:
      'Concurrent requests of several principals are started in round-robin order, one of each principal, however many connections each has. A principal that sends alone does not wait.',
  }),
  'gateway:front:pipelining': held({
    spec: 'gateway',
    behaviour: 'Requests on one connection beyond the limit of answers still due are refused with 429.',
  }),
  'gateway:era:meta-is-modern': held({
    spec: '2026-07-28/basic/versioning#compatibility-matrix',
    revisions: 'modern',
    behaviour:
      'A request whose `_meta` names a revision is modern, whatever its headers say; if the version header differs or is missing, it is answered -32020.',
  }),
  'gateway:era:initialize-is-legacy': held({
    spec: '2026-07-28/basic/versioning#compatibility-matrix',
    revisions: 'legacy',
    behaviour: '`initialize` without a modern envelope opens a legacy session.',
  }),
  'gateway:era:modern-header-without-meta': held({
    spec: '2026-07-28/basic#_meta',
    revisions: 'modern',
    behaviour: 'A request with a modern version header and no envelope is answered -32602.',
  }),
  'gateway:era:legacy-by-session': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'A request with neither a modern header nor a modern envelope belongs to the legacy session that it names.',
  }),
  'gateway:era:notification-by-header': held({
    spec: 'gateway',
    behaviour:
      'A notification or response is modern if its version header says so; otherwise it belongs to the legacy session that it names.',
  }),
  'gateway:era:array-by-header': held({
    spec: 'gateway',
    behaviour: 'The era of an array is that of its header, else of its session; its members are not looked at.',
  }),
  'gateway:gates:zero-bytes': held({
    spec: 'gateway',
    behaviour: 'A message that fails a check causes no byte to be sent to any backend.',
  }),
  'gateway:gates:order': held({
    spec: 'gateway',
    behaviour: 'If a message has several faults, the first failing check determines the answer.',
  }),
  'gateway:gates:id-echoed': held({
    spec: 'gateway',
    behaviour:
      'A refusal carries the id of the request, in its own type and spelling, wherever the body could be read.',
  }),
  'gateway:gates:id-absent': held({
    spec: 'gateway',
    behaviour: 'Where there is no id to echo the member is absent; `id: null` is never sent.',
  }),
  'gateway:gates:status-200-inside': held({
    spec: 'gateway',
    behaviour:
      'A failure inside an exchange is HTTP 200 or in the stream, so that clients that probe for the era are not misled.',
  }),
  'gateway:http:preflight': held({
    spec: 'gateway',
    behaviour:
      'A preflight from an allowed origin is answered 204 with the headers that it asked for, and needs no credentials.',
  }),
  'gateway:http:preflight-unknown-header': held({
    spec: 'gateway',
    behaviour: 'A preflight is not granted headers that no MCP request has.',
  }),
  'gateway:http:cors-everywhere': held({
    spec: 'gateway',
    behaviour: 'Every answer to an allowed origin can be read by it, failures too.',
  }),
  'gateway:http:origin-refused': held({
    spec: '2025-11-25/basic/transports#security-warning',
    behaviour: 'An `Origin` that is not allowed is answered 403 with a JSON-RPC error.',
  }),
  'gateway:http:host-refused': held({
    spec: '2025-11-25/basic/transports#security-warning',
    behaviour: 'On a loopback address a `Host` that is not ours is answered 403 with a JSON-RPC error.',
  }),
  'gateway:http:public-host': held({
    spec: 'gateway',
    behaviour: 'On a loopback address the host of `publicUrl` is served, so that a proxy in front may pass it on.',
  }),
  'gateway:http:host-logged': held({
    spec: 'gateway',
    behaviour: 'A refused `Host` is logged once, with the setting that allows it; repetitions are counted.',
  }),
  'gateway:http:two-hosts': held({
    spec: 'gateway',
    behaviour: 'A request with two `Host` headers is answered 400 (RFC 9112, 3.2).',
  }),
  'gateway:http:bodies-bounded': held({
    spec: 'gateway',
    behaviour: 'Half-sent bodies of all clients, and of each address, are bounded in bytes; one more is answered 503.',
  }),
  'gateway:http:connections-bounded': held({
    spec: 'gateway',
    behaviour:
      'Connections of all clients, and of each address, are bounded; one more is answered 503, and health paths are served on it.',
  }),
  'gateway:http:unread-answer': held({
    spec: 'gateway',
    behaviour:
      'A client that reads nothing of its answer for a named time is disconnected, whatever it sends meanwhile.',
  }),
  'gateway:http:slow-readers-bounded': held({
    spec: 'gateway',
    behaviour:
      'The bytes buffered for all slow readers are bounded; the largest and slowest readers are disconnected first.',
  }),
  'gateway:http:refused-while-sending': held({
    spec: 'gateway',
    behaviour:
      'A client that sends `Connection: close` gets the answer to a request that is refused while it is still sending.',
  }),
  'gateway:http:trailing-slash': held({
    spec: 'gateway',
    behaviour: 'The address of an endpoint with a trailing slash leads to the same endpoint.',
  }),
  'gateway:http:body-too-large': held({
    spec: 'gateway',
    behaviour: 'A body over the limit is answered 413, without reading it to the end.',
  }),
  'gateway:http:headers-too-large': held({
    spec: 'gateway',
    behaviour: 'Headers over the limit are answered 431.',
  }),
  'gateway:http:slow-body': held({
    spec: 'gateway',
    behaviour: 'A body that does not come in time is answered 408.',
  }),
  'gateway:http:slow-headers': held({
    spec: 'gateway',
    behaviour: 'Headers that do not come in time are answered 408.',
  }),
  'gateway:http:accept-lenient': held({
    spec: 'gateway',
    behaviour: '`Accept` that is absent, `*/*`, or names only one of the two types is served in what it accepts.',
  }),
  'gateway:http:accept-strict': held({
    spec: 'gateway',
    behaviour: 'A strict profile demands both types in `Accept`.',
  }),
  'gateway:http:accept-json-alone': held({
    spec: 'gateway',
    behaviour: 'A client that accepts only JSON cannot use `subscriptions/listen` or a GET stream: 406.',
  }),
  'gateway:http:json-when-quick': held({
    spec: 'gateway',
    behaviour: 'A call that finishes at once, without notifications or server requests, is answered in JSON.',
  }),
  'gateway:http:stream-when-talking': held({
    spec: 'gateway',
    behaviour:
      'A call with notifications or server requests is answered in an event stream, where the client accepts one.',
  }),
  'gateway:http:stream-when-slow': held({
    spec: 'gateway',
    behaviour:
      'If a call is not done after a short named time, the gateway sends the response headers of an event stream.',
  }),
  'gateway:http:keep-alive': held({
    spec: 'gateway',
    behaviour: 'Comments keep a quiet stream alive.',
  }),
  'gateway:http:no-buffering': held({
    spec: '2026-07-28/basic/transports/streamable-http#receiving-messages',
    behaviour: 'Event streams carry headers that tell proxies not to buffer them.',
  }),
  'gateway:http:unknown-path': held({
    spec: 'gateway',
    behaviour: 'An unknown path is answered 404, and not with the code of a lost session.',
  }),
  'gateway:json:not-json': held({
    spec: 'gateway',
    behaviour: 'What is not JSON is answered 400 with -32700.',
  }),
  'gateway:json:invalid-utf8': held({
    spec: 'gateway',
    behaviour: 'What is not UTF-8 is answered 400 with -32700.',
  }),
  'gateway:json:duplicate-members': held({
    spec: 'gateway',
    behaviour: 'Two members of one name are answered 400 with -32600, `ambiguous_json`, at any depth.',
  }),
  'gateway:json:escaped-twins': held({
    spec: 'gateway',
    behaviour: 'Two spellings of one name count as one name.',
  }),
  'gateway:json:case-twins': held({
    spec: 'gateway',
    behaviour:
      'In a message, its `params`, `_meta`, `ref` and filter, a member that differs from a name of the protocol only in case is refused: 400 with -32600 and the reason `ambiguous_json`.',
  }),
  'gateway:json:case-is-data': held({
    spec: 'gateway',
    behaviour: 'Elsewhere names that differ only in case are data, and pass unchanged.',
  }),
  'gateway:json:stray-reference': held({
    spec: 'gateway',
    behaviour: 'A `ref/prompt` with a `uri`, and a `ref/resource` with a `name`, is refused as ambiguous.',
  }),
  'gateway:json:too-many-members': held({
    spec: 'gateway',
    behaviour:
      'More than 1,024 members of a message, of its `params`, `_meta`, `ref` or filter, or more than 64 KiB of their names, are refused: 400 with -32600.',
  }),
  'gateway:json:lone-surrogate': held({
    spec: 'gateway',
    behaviour: 'Half a surrogate pair is answered 400 with -32600, `ambiguous_json`.',
  }),
  'gateway:json:too-deep': held({
    spec: 'gateway',
    behaviour: 'Nesting over the limit is answered 400 with -32600, `too_deep`.',
  }),
  'gateway:json:null-id': held({
    spec: '2025-11-25/basic#requests',
    behaviour: 'A request with `id: null` is answered 400 with -32600.',
  }),
  'gateway:json:fractional-id': held({
    spec: '2025-11-25/basic#requests',
    behaviour: 'A request with a fractional id is answered 400 with -32600.',
  }),
  'gateway:json:result-and-error': held({
    spec: '2025-11-25/basic#responses',
    behaviour: 'A response with both result and error is answered 400 with -32600.',
  }),
  'gateway:json:unknown-shape': held({
    spec: '2025-11-25/basic#messages',
    behaviour: 'JSON that is no JSON-RPC message is answered 400 with -32600.',
  }),
  'gateway:json:any-bytes': held({
    spec: 'gateway',
    behaviour:
      'Any bytes at all give a message or a named error, and the way they were cut into chunks changes nothing.',
  }),
  'gateway:failure:opaque-internal': held({
    spec: 'gateway',
    behaviour:
      'A crash in our own code is -32603 "Internal error" with the id and a log id; its text goes only to the log.',
  }),
  'gateway:failure:backend-unavailable': held({
    spec: 'gateway',
    behaviour: 'A backend that is down or was cut off is -32603 with `backend_unavailable`.',
  }),
  'gateway:failure:backend-invalid': held({
    spec: 'gateway',
    behaviour: 'An invalid answer of a backend is -32603 with `backend_invalid`.',
  }),
  'gateway:failure:others-unaffected': held({
    spec: 'gateway',
    behaviour: 'One broken backend leaves the endpoints of the others working.',
  }),
  'gateway:failure:closed-reasons': held({
    spec: 'gateway',
    behaviour: 'Every `data.reason` is in the failure table, which the documentation is generated from.',
  }),
  'gateway:failure:capability-absent': held({
    spec: 'gateway',
    behaviour: 'A method whose capability the backend lacks is -32601, and its data name the method.',
  }),
  'gateway:failure:unsubscribe-needs-resources': held({
    spec: '2025-11-25/server/resources#subscriptions',
    revisions: 'legacy',
    behaviour: '`resources/unsubscribe` needs the `resources` capability, and not `subscribe`.',
  }),
} satisfies Record<string, Requirement>;
