/** Many backends behind one endpoint. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayCatalog = {
  'gateway:catalog:unknown-resource': held({
    spec: 'gateway',
    behaviour: 'A resource that no backend has is -32002 for legacy clients and -32602 for modern ones.',
  }),
  'gateway:catalog:merge': held({
    spec: 'gateway',
    behaviour: 'Lists of several backends are one list, with every member of every entry.',
  }),
  'gateway:catalog:names': held({
    spec: 'gateway',
    behaviour: 'Entries of one name are renamed by a deterministic rule, within the length that clients accept.',
  }),
  'gateway:catalog:names-headers': held({
    spec: '2026-07-28/basic/transports/streamable-http#standard-request-headers',
    revisions: 'modern',
    behaviour:
      '`Mcp-Name` and `Mcp-Param-*` follow the renaming: the client’s name on its side, the backend’s on the other.',
  }),
  'gateway:catalog:twins': held({
    spec: 'gateway',
    behaviour: 'If several backends have the same tool, prompt, resource or template, a client can reach each of them.',
  }),
  'gateway:catalog:links': held({
    spec: 'gateway',
    behaviour: 'Resources that a result points to can be read under the address that it gives.',
  }),
  'gateway:catalog:pages': held({
    spec: 'gateway',
    behaviour: 'Clients page through the merged list of several backends with one cursor of the gateway.',
  }),
  'gateway:catalog:cursors': held({
    spec: '2026-07-28/server/utilities/pagination#error-handling',
    behaviour:
      'A cursor that was not issued for this list at this endpoint is answered -32602; a valid one continues the list as it was when the cursor was issued.',
  }),
  'gateway:catalog:partial': held({
    spec: 'gateway',
    behaviour: 'A list without the entries of a backend that is down says so.',
  }),
  'gateway:catalog:merged-hints': held({
    spec: '2026-07-28/server/utilities/caching#choosing-a-cache-scope',
    revisions: 'modern',
    behaviour: 'Merged results have the smallest lifetime and the narrowest scope of their parts.',
  }),
  'gateway:catalog:answers-cached': held({
    spec: '2026-07-28/server/utilities/caching#cache-key',
    behaviour: 'Lists of backends are cached within their lifetime and scope, and a change invalidates them.',
  }),
  'gateway:catalog:single-flight': held({
    spec: 'gateway',
    behaviour: 'Concurrent requests for the same list share one read of it.',
  }),
  'gateway:catalog:greeting': held({
    spec: 'gateway',
    behaviour:
      'An endpoint has the capabilities that at least one backend has, and the instructions of each backend under a heading; a method that no backend supports is answered -32601.',
  }),
  'gateway:catalog:greeting-bounded': held({
    spec: 'gateway',
    behaviour: '`initialize` and `server/discover` wait for no backend beyond a limit.',
  }),
  'gateway:catalog:failure-local': held({
    spec: 'gateway',
    behaviour: 'When a backend fails, only its own calls fail, with a named error.',
  }),
  'gateway:catalog:cancel-routed': held({
    spec: 'gateway',
    behaviour: 'At a merged endpoint, a cancellation reaches only the backend that has the call.',
  }),
  'gateway:catalog:backend-recovers': held({
    spec: 'gateway',
    behaviour: 'A backend that comes back is seen by sessions that are already open.',
  }),
  'gateway:catalog:subscriptions': held({
    spec: '2026-07-28/basic/patterns/subscriptions',
    behaviour:
      'One stream carries the changes of many backends: the acknowledgement names exactly what is delivered, and each client gets each change once.',
  }),
  'gateway:catalog:unasked-updates': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'An update of a resource that the client did not itself subscribe to has a URI that leads back only to its backend.',
  }),
  'gateway:catalog:storms': held({
    spec: 'gateway',
    behaviour: 'A burst of changes of one list causes a notification at its beginning and one at its end.',
  }),
  'gateway:catalog:sessions': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'One session of a client maps to one upstream session at each backend: log levels, server requests and their answers, and the loss of one upstream session.',
  }),
  'gateway:catalog:late-list': held({
    spec: 'gateway',
    behaviour: 'If a backend’s entries arrive after the list’s wait limit, a list change announces them.',
  }),
  'gateway:catalog:stdio': held({
    spec: 'gateway',
    behaviour: '`bascule stdio` merges its backends as an HTTP endpoint does.',
  }),
  'gateway:catalog:features': held({
    spec: 'gateway',
    behaviour: 'Every feature works at one backend among several as it does alone.',
  }),
} satisfies Record<string, Requirement>;
