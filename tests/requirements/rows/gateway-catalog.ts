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
    behaviour: 'Entries of one name are told apart by rule, never by chance, within the length that clients accept.',
  }),
  'gateway:catalog:names-headers': held({
    spec: '2026-07-28/basic/transports/streamable-http#standard-request-headers',
    revisions: 'modern',
    behaviour:
      '`Mcp-Name` and `Mcp-Param-*` follow the renaming: the client’s name on its side, the backend’s on the other.',
  }),
  'gateway:catalog:twins': held({
    spec: 'gateway',
    behaviour: 'Of several backends with the same tool, prompt, resource or template, each can be reached.',
  }),
  'gateway:catalog:links': held({
    spec: 'gateway',
    behaviour: 'Resources that a result points to can be read under the address that it gives.',
  }),
  'gateway:catalog:pages': held({
    spec: 'gateway',
    behaviour: 'Pages of several backends are followed to the end with one cursor of our own.',
  }),
  'gateway:catalog:cursors': held({
    spec: '2026-07-28/server/utilities/pagination#error-handling',
    behaviour:
      'A cursor that was not given for this list at this endpoint is -32602; one that was leads on in the list as it was.',
  }),
  'gateway:catalog:partial': held({
    spec: 'gateway',
    behaviour: 'A list that lacks a backend that is down says so.',
  }),
  'gateway:catalog:merged-hints': held({
    spec: '2026-07-28/server/utilities/caching#choosing-a-cache-scope',
    revisions: 'modern',
    behaviour: 'Merged results have the smallest lifetime and the narrowest scope of their parts.',
  }),
  'gateway:catalog:answers-cached': held({
    spec: '2026-07-28/server/utilities/caching#cache-key',
    behaviour: 'Lists of backends are reused within their lifetime and scope, and changes end that.',
  }),
  'gateway:catalog:single-flight': held({
    spec: 'gateway',
    behaviour: 'Whoever wants the same list at the same time shares one reading of it.',
  }),
  'gateway:catalog:greeting': held({
    spec: 'gateway',
    behaviour:
      'An endpoint has the capabilities that some backend has, and instructions under headings; a method that none has is -32601.',
  }),
  'gateway:catalog:greeting-bounded': held({
    spec: 'gateway',
    behaviour: '`initialize` and `server/discover` wait for no backend beyond a limit.',
  }),
  'gateway:catalog:failure-local': held({
    spec: 'gateway',
    behaviour: 'A backend that fails costs its own calls, which get a named error, and no others.',
  }),
  'gateway:catalog:cancel-routed': held({
    spec: 'gateway',
    behaviour: 'On an aggregate, a cancellation reaches the one backend that has the call.',
  }),
  'gateway:catalog:backend-recovers': held({
    spec: 'gateway',
    behaviour: 'A backend that comes back is seen by sessions that are already open.',
  }),
  'gateway:catalog:subscriptions': held({
    spec: '2026-07-28/basic/patterns/subscriptions',
    behaviour:
      'One stream tells of many backends: what is acknowledged is what is honoured, and each client hears each thing once.',
  }),
  'gateway:catalog:unasked-updates': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'An update of a resource that the client did not itself subscribe to comes under an address that leads back to its backend and no other.',
  }),
  'gateway:catalog:storms': held({
    spec: 'gateway',
    behaviour: 'Changes of a list that come in a storm are told at its beginning and at its end.',
  }),
  'gateway:catalog:sessions': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      'One session of a client stands for one at each backend: levels, questions and their answers, and the loss of one of them.',
  }),
  'gateway:catalog:late-list': held({
    spec: 'gateway',
    behaviour:
      'Entries of a backend that took longer than a list waits are told of by a list change once they are there.',
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
