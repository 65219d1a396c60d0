/** What a backend asks of a client: sampling, elicitation and roots, client and backend in the same era. */
import { clientSide, contentUnjudged } from '../reasons.ts';
import type { Requirement } from '../requirement.ts';
import { held, notApplicable } from '../requirement.ts';

export const serverRequests = {
  'sampling:capability:declare': held({
    spec: '2025-11-25/client/sampling#capabilities',
    behaviour: 'A backend sees the `sampling` capability exactly where the client declared it.',
  }),
  'sampling:create:basic': held({
    spec: '2025-11-25/client/sampling#creating-messages',
    behaviour: 'A request for a completion reaches the client, and its answer the call that asked.',
  }),
  'sampling:create:include-context': held({
    spec: '2025-11-25/client/sampling#capabilities',
    behaviour: '`includeContext` reaches the client as the backend wrote it.',
  }),
  'sampling:context:server-gated-by-capability': held({
    spec: '2025-11-25/client/sampling#capabilities',
    behaviour: '`sampling.context` is offered to a backend only where the client declared it.',
  }),
  'sampling:create:model-preferences': held({
    spec: '2025-11-25/client/sampling#model-preferences',
    behaviour: 'Preferences and hints for the model reach the client as the backend wrote them.',
  }),
  'sampling:create:system-prompt': held({
    spec: '2025-11-25/client/sampling#creating-messages',
    behaviour: 'The system prompt reaches the client as the backend wrote it.',
  }),
  'sampling:create:tools': held({
    spec: '2025-11-25/client/sampling#tools-in-sampling',
    behaviour: 'Tools and the choice among them reach the client, and a `tool_use` answer comes back.',
  }),
  'sampling:create-message:audio-content': held({
    spec: '2025-11-25/client/sampling#audio-content',
    behaviour: 'Audio in a sampling message arrives untouched.',
  }),
  'sampling:create-message:image-content': held({
    spec: '2025-11-25/client/sampling#image-content',
    behaviour: 'An image in a sampling message arrives untouched.',
  }),
  'sampling:create-message:not-supported': held({
    spec: '2025-11-25/client/sampling#capabilities',
    behaviour: 'Sampling at a client that did not declare it is answered -32600 by the gateway, at once.',
  }),
  'sampling:error:user-rejected': held({
    spec: '2025-11-25/client/sampling#error-handling',
    behaviour: 'The error with which a user refuses reaches the backend, code and message unchanged.',
  }),
  'sampling:message:content-cardinality': held({
    spec: '2025-11-25/client/sampling',
    behaviour: 'Content that is one block stays one block, and an array stays an array.',
  }),
  'sampling:result:no-tools-single-content': notApplicable(contentUnjudged, {
    spec: 'sdk',
    behaviour: 'An array is refused as the answer to a request without tools.',
  }),
  'sampling:result:with-tools-array-content': held({
    spec: 'sdk',
    behaviour: 'An answer with an array of content, `tool_use` among it, reaches the backend.',
  }),
  'sampling:tool-result:no-mixed-content': notApplicable(contentUnjudged, {
    spec: '2025-11-25/client/sampling#tool-result-messages',
    behaviour: 'A message with tool results holds nothing else.',
  }),
  'sampling:tool-use:result-balance': notApplicable(contentUnjudged, {
    spec: '2025-11-25/client/sampling#tool-use-and-result-balance',
    behaviour: 'A tool use without its result is refused.',
  }),
  'sampling:tool-use:server-preflight': notApplicable(contentUnjudged, {
    spec: 'sdk',
    behaviour: 'A server checks the balance of tool uses before it asks.',
  }),
  'sampling:tools:server-gated-by-capability': held({
    spec: '2025-11-25/client/sampling#tools-in-sampling',
    behaviour: 'Sampling with tools at a client without `sampling.tools` is refused by the gateway.',
  }),
  'elicitation:capability:empty-is-form': held({
    spec: '2025-11-25/client/elicitation#capabilities',
    behaviour: 'An empty `elicitation` capability means form mode only.',
  }),
  'elicitation:capability:mode-mismatch': held({
    spec: '2025-11-25/client/elicitation#error-handling',
    behaviour: 'An elicitation in a mode that the client did not declare is answered -32602 by the gateway.',
  }),
  'elicitation:capability:server-respects-mode': held({
    spec: '2025-11-25/client/elicitation#capabilities',
    behaviour: 'A backend is offered the modes that the client declared and no other.',
  }),
  'elicitation:form:action:accept': held({
    spec: '2025-11-25/client/elicitation#response-actions',
    behaviour: 'The content that the user entered reaches the backend as sent.',
  }),
  'elicitation:form:action:cancel': held({
    spec: '2025-11-25/client/elicitation#response-actions',
    behaviour: 'A dismissed form reaches the backend as `cancel`, without content.',
  }),
  'elicitation:form:action:decline': held({
    spec: '2025-11-25/client/elicitation#response-actions',
    behaviour: 'A declined form reaches the backend as `decline`, without content.',
  }),
  'elicitation:form:basic': held({
    spec: '2025-11-25/client/elicitation#form-mode-elicitation-requests',
    behaviour: 'Message and schema of a form reach the client exactly as the backend wrote them.',
  }),
  'elicitation:form:defaults': held({
    spec: '2025-11-25/client/elicitation#requested-schema',
    behaviour: 'Default values in the schema of a form reach the client.',
  }),
  'elicitation:form:mode-omitted-default': held({
    spec: '2025-11-25/client/elicitation#elicitation-requests',
    behaviour: 'An elicitation without a mode counts as a form, and the gateway adds no mode to it.',
  }),
  'elicitation:form:not-supported': held({
    spec: '2025-11-25/client/elicitation#error-handling',
    behaviour: 'Elicitation at a client that did not declare it is answered -32602 by the gateway, at once.',
  }),
  'elicitation:form:schema:enum-variants': held({
    spec: '2025-11-25/client/elicitation#requested-schema',
    behaviour: 'Enumerations, titled and with several choices, reach the client as written.',
  }),
  'elicitation:form:schema:primitives': held({
    spec: '2025-11-25/client/elicitation#requested-schema',
    behaviour: 'Fields of the primitive types reach the client as written.',
  }),
  'elicitation:form:schema:restricted-subset': notApplicable(contentUnjudged, {
    spec: '2025-11-25/client/elicitation#requested-schema',
    behaviour: 'Schemas of forms are flat objects of primitive fields.',
  }),
  'elicitation:form:response-validation': notApplicable(contentUnjudged, {
    spec: '2025-11-25/client/elicitation#form-mode-security',
    behaviour: 'Accepted content is checked against the schema of the form.',
  }),
  'elicitation:url:action:accept-no-content': held({
    spec: '2025-11-25/client/elicitation#response-actions',
    behaviour: 'Consent to open a URL reaches the backend without content.',
  }),
  'elicitation:url:basic': held({
    spec: '2025-11-25/client/elicitation#url-mode-elicitation-requests',
    behaviour: 'URL and elicitation id reach a legacy client exactly as the backend wrote them.',
  }),
  'elicitation:url:cancel': held({
    spec: '2025-11-25/client/elicitation#response-actions',
    behaviour: 'A dismissed URL reaches the backend as `cancel`, without content.',
  }),
  'elicitation:url:complete-notification': held({
    spec: '2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation',
    revisions: 'legacy',
    behaviour: 'The completion of a URL elicitation reaches the client that was asked, and no other.',
  }),
  'elicitation:url:complete-unknown-ignored': notApplicable(clientSide, {
    spec: '2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation',
    revisions: 'legacy',
    behaviour: 'A client ignores the completion of an elicitation it does not know.',
  }),
  'elicitation:url:decline': held({
    spec: '2025-11-25/client/elicitation#response-actions',
    behaviour: 'A declined URL reaches the backend as `decline`, without content.',
  }),
  'elicitation:url:not-supported': held({
    spec: '2025-11-25/client/elicitation#error-handling',
    behaviour: 'A URL elicitation at a client that supports only forms is answered -32602 by the gateway.',
  }),
  'elicitation:url:required-error': held({
    spec: '2025-11-25/client/elicitation#url-elicitation-required-error',
    revisions: 'legacy',
    behaviour: '-32042 reaches a legacy client with the pending elicitations in its data.',
  }),
  'roots:list-changed': held({
    spec: '2025-11-25/client/roots#root-list-changes',
    revisions: 'legacy',
    behaviour: "A client's notification that its roots changed reaches the legacy backend of its session.",
  }),
  'roots:list-changed:client-emits': notApplicable(clientSide, {
    spec: '2025-11-25/client/roots#root-list-changes',
    revisions: 'legacy',
    behaviour: 'A client announces a change of its roots.',
  }),
  'roots:list:basic': held({
    spec: '2025-11-25/client/roots#listing-roots',
    behaviour: 'The roots of the client reach the call that asked for them.',
  }),
  'roots:list:client-error': held({
    spec: '2025-11-25/client/roots#error-handling',
    behaviour: 'The error with which a client answers reaches the backend.',
  }),
  'roots:list:empty': held({
    spec: '2025-11-25/client/roots#listing-roots',
    behaviour: 'An empty list of roots is an answer like any other.',
  }),
  'roots:list:not-supported': held({
    spec: '2025-11-25/client/roots#error-handling',
    behaviour: 'Roots asked of a client that did not declare them are answered -32601 by the gateway.',
  }),
  'roots:uri:file-scheme': notApplicable(contentUnjudged, {
    spec: '2025-11-25/client/roots#root',
    behaviour: 'Every root is a `file://` URI.',
  }),
} satisfies Record<string, Requirement>;
