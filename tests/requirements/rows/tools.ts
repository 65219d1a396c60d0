/** Tools, listed and called through the gateway. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const tools = {
  'tools:call:content:audio': held({
    spec: '2025-11-25/server/tools#audio-content',
    behaviour: 'Audio in a tool result arrives with its base64 data and media type untouched.',
  }),
  'tools:call:content:embedded-resource': held({
    spec: '2025-11-25/server/tools#embedded-resources',
    behaviour: 'Embedded text and blob resources in a tool result arrive untouched.',
  }),
  'tools:call:content:image': held({
    spec: '2025-11-25/server/tools#image-content',
    behaviour: 'An image in a tool result arrives with its base64 data and media type untouched.',
  }),
  'tools:call:content:mixed': held({
    spec: '2025-11-25/server/tools#tool-result',
    behaviour: 'Content blocks of several kinds arrive in the order in which the backend gave them.',
  }),
  'tools:call:content:resource-link': held({
    spec: '2025-11-25/server/tools#resource-links',
    behaviour: 'A resource link in a tool result arrives with its URI as the backend wrote it.',
  }),
  'tools:call:content:text': held({
    spec: '2025-11-25/server/tools#text-content',
    behaviour: 'Arguments reach the backend as sent, and its text content comes back.',
  }),
  'tools:call:concurrent': held({
    spec: 'sdk',
    behaviour: 'Calls sent at the same time run at the same time, and each answer goes to its own request.',
  }),
  'tools:call:elicitation-roundtrip': held({
    spec: '2025-11-25/client/elicitation#user-interaction-model',
    behaviour: 'A tool that asks the user in the middle of its call gets the answer and finishes.',
  }),
  'tools:call:is-error': held({
    spec: '2025-11-25/server/tools#error-handling',
    behaviour: "A tool's own failure stays a result with `isError`, and does not turn into a JSON-RPC error.",
  }),
  'tools:call:logging-mid-execution': held({
    spec: '2025-11-25/server/utilities/logging#log-message-notifications',
    behaviour: 'Log messages that a tool sends while it runs arrive before its result.',
  }),
  'tools:call:progress': held({
    spec: '2025-11-25/basic/utilities/progress#progress-flow',
    behaviour: 'Progress that a tool reports while it runs arrives as it happens, not together with the result.',
  }),
  'tools:call:sampling-roundtrip': held({
    spec: '2025-11-25/client/sampling#creating-messages',
    behaviour: 'A tool that asks for a completion in the middle of its call gets it and finishes.',
  }),
  'tools:call:structured-content': held({
    spec: '2025-11-25/server/tools#structured-content',
    behaviour: 'Structured content arrives beside the content blocks, unchanged, also where `content` is empty.',
  }),
  'tools:call:structured-content:text-mirror': held({
    spec: '2025-11-25/server/tools#structured-content',
    behaviour: 'The text block that repeats the structured content arrives with it.',
  }),
  'tools:call:unknown-name': held({
    spec: '2025-11-25/server/tools#error-handling',
    behaviour: "Calling a tool that does not exist brings the error that the revision's servers give.",
  }),
  'tools:capability:declared': held({
    spec: '2025-11-25/server/tools#capabilities',
    behaviour: 'The `tools` capability is advertised where the backend has it, `listChanged` included.',
  }),
  'tools:input-schema:json-schema-2020-12': held({
    spec: '2025-11-25/server/tools#tool',
    behaviour: 'A tool with a JSON Schema 2020-12 input schema is listed and can be called.',
  }),
  'tools:input-schema:preserve-additional-properties': held({
    spec: '2025-11-25/server/tools#tool',
    behaviour: '`additionalProperties` survives in the listed schema.',
  }),
  'tools:input-schema:preserve-defs': held({
    spec: '2025-11-25/server/tools#tool',
    behaviour: '`$defs` and the references to them survive in the listed schema.',
  }),
  'tools:input-schema:preserve-schema-dialect': held({
    spec: '2025-11-25/server/tools#tool',
    behaviour: '`$schema` survives in the listed schema.',
  }),
  'tools:list-changed': held({
    spec: '2025-11-25/server/tools#list-changed-notification',
    behaviour: "A change of the backend's tools is announced to its clients, and the next list shows it.",
  }),
  'tools:list:basic': held({
    spec: '2025-11-25/server/tools#listing-tools',
    behaviour: 'The list shows names, descriptions and input schemas as the backend has them.',
  }),
  'tools:list:metadata': held({
    spec: '2025-11-25/server/tools#tool',
    behaviour: 'Title, annotations, icons and `_meta` of a tool survive the list.',
  }),
  'tools:list:pagination': held({
    spec: '2025-11-25/server/utilities/pagination#response-format',
    behaviour: 'The client gets the cursor of the backend and sends it back, until the last page.',
  }),
} satisfies Record<string, Requirement>;
