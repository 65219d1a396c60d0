/**
 * Rules that servers of the official SDKs break, in the versions of `tests/interop`, with our programs in them. Each
 * run looks whether they still do.
 */
const python = [
  'modern pagination:invalid-cursor',
  'modern tools:call:unknown-name',
  'modern prompts:get:unknown-name',
  'legacy pagination:invalid-cursor',
  'legacy tools:call:unknown-name',
  'legacy prompts:get:unknown-name',
  'legacy resources:read:unknown-uri#legacy',
];

const go = [
  'legacy gateway:legacy:modern-method-refused',
  'legacy resources:read:unknown-uri#legacy',
  'legacy logging:set-level:invalid-level',
];

export const deviations: Readonly<Record<string, readonly string[]>> = {
  'mcp (Python) 2.3.0 over stdio': python,
  'mcp (Python) 2.3.0 over http': [
    ...python,
    'modern gateway:gates:id-absent',
    'modern hosting:http:content-type-415',
    // It takes the request for one of the legacy era, without a session.
    'modern gateway:modern:header-mismatch#version',
    // 202, as for a notification.
    'legacy gateway:json:null-id',
    'legacy gateway:gates:id-absent',
    'legacy hosting:http:content-type-415',
    // It negotiates 2025-03-26, and refuses batches.
    'legacy hosting:http:batch',
    // 500: an exception of the server's own.
    'legacy hosting:resume:bad-event-id',
  ],
  'go-sdk 1.8.0 over stdio': [
    ...go,
    // -32601, as if `server/discover` did not exist.
    'modern gateway:modern:revision-unsupported',
    'modern logging:per-request:invalid-level',
    // It reads values, not lines: half a message swallows the next line, and the process ends.
    'modern gateway:stdio:unreadable-line',
    'legacy gateway:stdio:unreadable-line',
    'modern gateway:stdio:batch-refused',
  ],
  'go-sdk 1.8.0 over http': [
    ...go,
    // 400 with plain text.
    'legacy protocol:error:method-not-found',
    'legacy hosting:http:accept-406',
    'legacy transport:streamable-http:origin-validation',
    'legacy hosting:session:missing-id',
  ],
  'rmcp 3.8.0 over stdio': ['modern pagination:invalid-cursor', 'legacy pagination:invalid-cursor'],
};
