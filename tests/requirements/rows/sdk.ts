/**
 * What the SDK suites demand of their own libraries. Held where the behaviour is visible through the gateway with an
 * official client and server on both ends.
 */
import { clientSide, serverSide } from '../reasons.ts';
import type { Requirement } from '../requirement.ts';
import { held, notApplicable } from '../requirement.ts';

export const sdk = {
  'client:output-schema:skip-on-error': notApplicable(clientSide, {
    spec: 'sdk',
    behaviour: 'A client skips the output schema where the result is an error.',
  }),
  'client:output-schema:validate': held({
    spec: '2025-11-25/server/tools#output-schema',
    behaviour:
      "Output schema and structured content arrive unaltered, so that a client's own check accepts good results and refuses bad ones.",
  }),
  'client:output-schema:missing-structured': notApplicable(clientSide, {
    spec: 'sdk',
    behaviour: 'A client refuses a result without the structured content that its schema promises.',
  }),
  'client:output-schema:auto-list': notApplicable(clientSide, {
    spec: 'sdk',
    behaviour: 'A client lists tools by itself before it calls one that it has not seen.',
  }),
  'mcpserver:output-schema:missing-structured': notApplicable(serverSide, {
    spec: '2025-11-25/server/tools#output-schema',
    behaviour: 'A server refuses to return nothing where its schema promises something.',
  }),
  'mcpserver:output-schema:server-validate': notApplicable(serverSide, {
    spec: '2025-11-25/server/tools#output-schema',
    behaviour: 'A server checks structured content against its own schema.',
  }),
  'mcpserver:output-schema:skip-on-error': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A server skips that check for errors.',
  }),
  'mcpserver:tool:duplicate-name': notApplicable(serverSide, {
    spec: '2025-11-25/server/tools#tool-names',
    behaviour: 'A server refuses to register a tool twice.',
  }),
  'mcpserver:tool:extra': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A tool function reads the metadata of its request.',
  }),
  'mcpserver:tool:handler-throws': held({
    spec: 'sdk',
    behaviour: 'A tool that throws reaches the client as a result with `isError`.',
  }),
  'mcpserver:tool:input-validation': held({
    spec: '2025-11-25/server/tools#error-handling',
    behaviour: "Arguments that the backend refuses reach the client as the backend's `isError` result.",
  }),
  'mcpserver:tool:naming-validation': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A server warns of unusual tool names.',
  }),
  'mcpserver:tool:output-schema:model': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A server derives the output schema from a type.',
  }),
  'mcpserver:tool:output-schema:wrapped': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A server wraps a result that is no object.',
  }),
  'mcpserver:tool:schema-variants': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A server coerces complex arguments.',
  }),
  'mcpserver:tool:unknown-name': held({
    spec: '2025-11-25/server/tools#error-handling',
    behaviour: 'What an SDK server answers for an unknown tool is what the client reads.',
  }),
  'mcpserver:tool:url-elicitation-error': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: '-32042 of an SDK server reaches a legacy client intact.',
  }),
  'mcpserver:context:logging': held({
    spec: 'sdk',
    behaviour: 'Messages that a tool logs through its SDK reach the client at their level.',
  }),
  'mcpserver:context:progress': held({
    spec: 'sdk',
    behaviour: "Progress that a tool reports through its SDK reaches the client under the client's token.",
  }),
  'mcpserver:context:elicit': held({
    spec: 'sdk',
    behaviour: 'A form that a tool shows through its SDK is answered by an SDK client, and the tool reads the answer.',
  }),
  'mcpserver:context:read-resource': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A tool reads a resource of its own server.',
  }),
  'mcpserver:resource:duplicate-name': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A server refuses to register a resource twice.',
  }),
  'mcpserver:resource:read-throws-surfaced': held({
    spec: 'sdk',
    behaviour: 'A resource that throws is -32603 at the client, with the text that the backend chose to show.',
  }),
  'mcpserver:resource:static': held({
    spec: 'sdk',
    behaviour: 'A resource with a fixed URI is listed and read.',
  }),
  'mcpserver:resource:template': held({
    spec: 'sdk',
    behaviour: 'A resource under a template is listed as a template and read by an expanded URI.',
  }),
  'mcpserver:resource:unknown-uri': held({
    spec: '2025-11-25/server/resources#error-handling',
    behaviour: '-32602 with the URI in its data reaches a modern client from a modern backend.',
  }),
  'mcpserver:prompt:args-validation': notApplicable(serverSide, {
    spec: '2025-11-25/server/prompts#implementation-considerations',
    behaviour: 'A server refuses bad arguments before the prompt function runs.',
  }),
  'mcpserver:prompt:decorated': held({
    spec: 'sdk',
    behaviour: 'A prompt is listed with its arguments and fetched with them.',
  }),
  'mcpserver:prompt:duplicate-name': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A server refuses to register a prompt twice.',
  }),
  'mcpserver:prompt:optional-args': held({
    spec: 'sdk',
    behaviour: 'A prompt is fetched without its optional arguments.',
  }),
  'mcpserver:prompt:unknown-name': held({
    spec: '2025-11-25/server/prompts#error-handling',
    behaviour: '-32602 of an SDK server for an unknown prompt reaches the client.',
  }),
  'mcpserver:completion:capability-auto': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A server advertises completions by itself where it has a source for them.',
  }),
  'client:list-changed:auto-refresh': held({
    spec: 'sdk',
    behaviour: 'A client that refreshes its list on a change gets the new list.',
  }),
  'client:list-changed:capability-gated': notApplicable(clientSide, {
    spec: 'sdk',
    behaviour: 'A client ignores changes that the server did not announce.',
  }),
  'client:list-changed:signal-only': notApplicable(clientSide, {
    spec: 'sdk',
    behaviour: 'A client reports a change without refreshing.',
  }),
  'mcpserver:list-changed:debounce': notApplicable(serverSide, {
    spec: 'sdk',
    behaviour: 'A server announces many changes once.',
  }),
  'mcpserver:register:post-connect': held({
    spec: 'sdk',
    behaviour: 'A tool that a backend adds while clients are connected is announced and can be called.',
  }),
} satisfies Record<string, Requirement>;
