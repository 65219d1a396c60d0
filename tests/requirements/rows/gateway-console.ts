/** The console: facts for operators, and acts on what runs. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayConsole = {
  'gateway:console:overview': held({
    spec: 'gateway',
    behaviour:
      'The overview has every endpoint and backend with eras, state, since when, and what last told so; a disabled backend is `off`.',
  }),
  'gateway:console:calls': held({
    spec: 'gateway',
    behaviour:
      'Each request is kept with its sender, outcome, rules and timings, in a number that is bounded, and can be filtered.',
  }),
  'gateway:console:bodies': held({
    spec: 'gateway',
    behaviour: 'Message bodies are kept only with `console.record: bodies`, redacted and bounded in bytes.',
  }),
  'gateway:console:tools': held({
    spec: 'gateway',
    behaviour:
      'For a principal and an endpoint the tools are listed that they see, and each other one with the reason: withheld, hidden by a rule, off, failing, never asked.',
  }),
  'gateway:console:people': held({
    spec: 'gateway',
    behaviour: 'People are listed with their clients, revisions and sessions, and without ids that could be used.',
  }),
  'gateway:console:policy': held({
    spec: 'gateway',
    behaviour: 'Rules are listed with how often they decided, and a decision can be tried without a request.',
  }),
  'gateway:console:flood': held({
    spec: 'gateway',
    behaviour:
      'A person who floods the console’s API is refused with 429 `too_many_requests`; other persons and calls of clients go on.',
  }),
  'gateway:console:revoke': held({
    spec: 'gateway',
    behaviour:
      'An operator with the right ends a session, or all sessions and streams of a person, and the act is audited; others get 403.',
  }),
  'gateway:console:try': held({
    spec: 'gateway',
    behaviour: 'A call is tried as the operator, through every stage that a request of their client passes.',
  }),
  'gateway:console:rights': held({
    spec: 'gateway',
    behaviour: 'A person without the right gets 403 from every path of the API, and sees nothing on any page.',
  }),
  'gateway:console:no-secrets': held({
    spec: 'gateway',
    behaviour:
      'No answer has an access key, a token, a cookie, a header value, an argument or environment value of a process, or a session id.',
  }),
  'gateway:console:sign-in': held({
    spec: 'gateway',
    behaviour:
      'A key, a token or the session of the bundled authorization server is exchanged for a cookie that ends; without identity, a link that works once.',
  }),
  'gateway:console:forgery': held({
    spec: 'gateway',
    behaviour: 'An act by cookie needs an `Origin` that is the console’s own; a page of another site can do nothing.',
  }),
  'gateway:console:config': held({
    spec: 'gateway',
    behaviour:
      'A console without `who` is refused where there is identity, and one that the network reaches where there is none.',
  }),
  'gateway:console:cost': held({
    spec: 'gateway',
    behaviour:
      'After 100,000 calls the console answers with a bounded number of rows, and keeps no more than its limit.',
  }),
  'gateway:console:pages': held({
    spec: 'gateway',
    behaviour:
      'Every page works in a browser under its content security policy, on a phone and in the dark, and an accessibility checker finds nothing.',
  }),
  'gateway:connect:list': held({
    spec: 'gateway',
    behaviour:
      '`/connect` lists the backends that want a person’s own account, whether they are connected, and the link to consent; its address carries no token.',
  }),
} as const satisfies Record<`gateway:${string}`, Requirement>;
