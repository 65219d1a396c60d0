/** Resources, prompts, completion, logging and pagination through the gateway. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const features = {
  'resources:annotations': held({
    spec: '2025-11-25/server/resources#annotations',
    behaviour: 'Audience, priority and the date of the last change survive the list.',
  }),
  'resources:capability:declared': held({
    spec: '2025-11-25/server/resources#capabilities',
    behaviour: 'The `resources` capability is advertised as the backend has it, with `subscribe` and `listChanged`.',
  }),
  'resources:list-changed': held({
    spec: '2025-11-25/server/resources#list-changed-notification',
    behaviour: "A change of the backend's resources is announced to its clients.",
  }),
  'resources:list:basic': held({
    spec: '2025-11-25/server/resources#listing-resources',
    behaviour: 'The list shows URI, name and description as the backend has them.',
  }),
  'resources:list:pagination': held({
    spec: '2025-11-25/server/utilities/pagination#operations-supporting-pagination',
    behaviour: 'Pages of resources can be followed to the end.',
  }),
  'resources:read:blob': held({
    spec: '2025-11-25/server/resources#reading-resources',
    behaviour: 'Binary contents arrive in base64, byte for byte.',
  }),
  'resources:read:template-vars': held({
    spec: 'sdk',
    behaviour: 'A URI made from a template is read at the backend exactly as the client spelled it.',
  }),
  'resources:read:text': held({
    spec: '2025-11-25/server/resources#reading-resources',
    behaviour: 'Text contents arrive with their URI and media type.',
  }),
  'resources:read:unknown-uri': held({
    spec: '2025-11-25/server/resources#error-handling',
    behaviour: 'A resource that does not exist is -32002 for a legacy client and -32602 for a modern one.',
  }),
  'resources:subscribe': held({
    spec: '2025-11-25/server/resources#subscriptions',
    revisions: 'legacy',
    behaviour: 'A subscription of a legacy client reaches its backend and is answered with an empty result.',
  }),
  'resources:subscribe:capability-required': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'Subscribing where the backend has no `subscribe` is answered -32601 without asking it.',
  }),
  'resources:subscribe:updated': held({
    spec: '2025-11-25/server/resources#subscriptions',
    revisions: 'legacy',
    behaviour: 'An update of a subscribed resource reaches the client that subscribed.',
  }),
  'resources:templates:list': held({
    spec: '2025-11-25/server/resources#resource-templates',
    behaviour: 'Templates are listed with their URI template as the backend has it.',
  }),
  'resources:templates:pagination': held({
    spec: '2025-11-25/server/utilities/pagination#operations-supporting-pagination',
    behaviour: 'Pages of templates can be followed to the end.',
  }),
  'resources:unsubscribe': held({
    spec: '2025-11-25/server/resources#subscriptions',
    revisions: 'legacy',
    behaviour: 'Unsubscribing reaches the backend and is answered with an empty result.',
  }),
  'resources:unsubscribe:stops-updates': held({
    spec: '2025-11-25/server/resources#subscriptions',
    revisions: 'legacy',
    behaviour: 'After unsubscribing no update of that resource reaches the client.',
  }),
  'resources:updated-notification': held({
    spec: '2025-11-25/server/resources#subscriptions',
    behaviour: 'An update notification arrives with the URI that the backend named.',
  }),
  'prompts:capability:declared': held({
    spec: '2025-11-25/server/prompts#capabilities',
    behaviour: 'The `prompts` capability is advertised where the backend has it.',
  }),
  'prompts:get:content:audio': held({
    spec: '2025-11-25/server/prompts#audio-content',
    behaviour: 'Audio in a prompt message arrives untouched.',
  }),
  'prompts:get:content:embedded-resource': held({
    spec: '2025-11-25/server/prompts#embedded-resources',
    behaviour: 'An embedded resource in a prompt message arrives untouched.',
  }),
  'prompts:get:content:image': held({
    spec: '2025-11-25/server/prompts#image-content',
    behaviour: 'An image in a prompt message arrives untouched.',
  }),
  'prompts:get:missing-required-args': held({
    spec: '2025-11-25/server/prompts#error-handling',
    behaviour: 'The -32602 that a backend gives for a missing argument reaches the client.',
  }),
  'prompts:get:multi-message': held({
    spec: '2025-11-25/server/prompts#getting-a-prompt',
    behaviour: 'Messages of a prompt arrive in order, each with its role.',
  }),
  'prompts:get:no-args': held({
    spec: '2025-11-25/server/prompts#getting-a-prompt',
    behaviour: 'A prompt without arguments is fetched without any.',
  }),
  'prompts:get:unknown-name': held({
    spec: '2025-11-25/server/prompts#error-handling',
    behaviour: 'A prompt that does not exist is answered -32602.',
  }),
  'prompts:get:with-args': held({
    spec: '2025-11-25/server/prompts#getting-a-prompt',
    behaviour: 'Arguments reach the backend as sent, and its messages come back.',
  }),
  'prompts:list-changed': held({
    spec: '2025-11-25/server/prompts#list-changed-notification',
    behaviour: "A change of the backend's prompts is announced to its clients.",
  }),
  'prompts:list:basic': held({
    spec: '2025-11-25/server/prompts#listing-prompts',
    behaviour: 'The list shows names, descriptions and arguments as the backend has them.',
  }),
  'prompts:list:pagination': held({
    spec: '2025-11-25/server/utilities/pagination#operations-supporting-pagination',
    behaviour: 'Pages of prompts can be followed to the end.',
  }),
  'completion:capability:declared': held({
    spec: '2025-11-25/server/utilities/completion#capabilities',
    behaviour: 'The `completions` capability is advertised where the backend has it.',
  }),
  'completion:complete:not-supported': held({
    spec: '2025-11-25/server/utilities/completion#capabilities',
    behaviour:
      'If the backend does not support completion, the capability is absent and `completion/complete` is answered -32601.',
  }),
  'completion:undeclared-2024-11-05': held({
    spec: '2024-11-05/server/utilities/completion',
    behaviour:
      'A backend of 2024-11-05, which has no such capability, gets `completion/complete` and answers for itself.',
  }),
  'completion:context-arguments': held({
    spec: '2025-11-25/server/utilities/completion#requesting-completions',
    behaviour: 'Arguments already chosen reach the backend in `context`.',
  }),
  'completion:error:invalid-ref': held({
    spec: '2025-11-25/server/utilities/completion#error-handling',
    behaviour: 'The -32602 that a backend gives for an unknown reference reaches the client.',
  }),
  'completion:prompt-arg': held({
    spec: '2025-11-25/server/utilities/completion#reference-types',
    behaviour: 'Values for an argument of a prompt come back as the backend gave them.',
  }),
  'completion:resource-template-arg': held({
    spec: '2025-11-25/server/utilities/completion#reference-types',
    behaviour: 'Values for a variable of a template come back as the backend gave them.',
  }),
  'completion:result-shape': held({
    spec: '2025-11-25/server/utilities/completion#completion-results',
    behaviour: 'Up to 100 values, `total` and `hasMore` come back as the backend gave them.',
  }),
  'logging:capability:declared': held({
    spec: '2025-11-25/server/utilities/logging#capabilities',
    behaviour: 'The `logging` capability is advertised where the backend has it.',
  }),
  'logging:message:all-levels': held({
    spec: '2025-11-25/server/utilities/logging#log-levels',
    behaviour: 'Messages of all eight levels arrive.',
  }),
  'logging:message:fields': held({
    spec: '2025-11-25/server/utilities/logging#log-message-notifications',
    behaviour: 'A message arrives with its level, logger and data as sent.',
  }),
  'logging:message:filtered': held({
    spec: '2025-11-25/server/utilities/logging#setting-log-level',
    revisions: 'legacy',
    behaviour: 'Below the level that a legacy client set, nothing reaches it.',
  }),
  'logging:set-level': held({
    spec: '2025-11-25/server/utilities/logging#setting-log-level',
    revisions: 'legacy',
    behaviour: 'The level that a legacy client sets reaches its backend and is answered with an empty result.',
  }),
  'logging:set-level:invalid-level': held({
    spec: '2025-11-25/server/utilities/logging#error-handling',
    revisions: 'legacy',
    behaviour: 'An unknown level is answered -32602.',
  }),
  'logging:per-request:opt-in': held({
    spec: '2026-07-28/server/utilities/logging#per-request-log-level',
    revisions: 'modern',
    behaviour: 'A modern request that names no level brings no log message.',
  }),
  'logging:per-request:threshold': held({
    spec: '2026-07-28/server/utilities/logging#per-request-log-level',
    revisions: 'modern',
    behaviour: 'A modern request gets the messages at its level and above, and no others.',
  }),
  'logging:per-request:invalid-level': held({
    spec: '2026-07-28/server/utilities/logging#error-handling',
    revisions: 'modern',
    behaviour: 'A modern request with an unknown level is answered -32602.',
  }),
  'pagination:exhaustion': held({
    spec: '2025-11-25/server/utilities/pagination#response-format',
    behaviour: 'Following `nextCursor` shows every entry once and ends where it is absent.',
  }),
  'pagination:invalid-cursor': held({
    spec: '2025-11-25/server/utilities/pagination#error-handling',
    behaviour: 'A cursor that was not issued is answered -32602.',
  }),
  'pagination:client:cursor-handling': held({
    spec: '2025-11-25/server/utilities/pagination#implementation-guidelines',
    behaviour: "The gateway treats a backend's cursor as opaque, and expects no particular page size.",
  }),
} satisfies Record<string, Requirement>;
