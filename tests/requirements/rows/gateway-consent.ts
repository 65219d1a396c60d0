/** Consent of a user for a backend: the link belongs only to the principal that called. */
import { held } from '../requirement.ts';

export const gatewayConsent = {
  'gateway:consent:principal-alone': held({
    spec: '2026-07-28/client/elicitation#phishing',
    behaviour:
      'Whoever opens a connect link shows, in the way of the principal, that they are the one who asked; others are refused and told no name.',
  }),
  'gateway:consent:browser-bound': held({
    spec: '2026-07-28/client/elicitation#phishing',
    behaviour: 'The answer of an authorization server counts once, and only in the browser that was sent there.',
  }),
  'gateway:consent:foreign-issuer': held({
    spec: '2026-07-28/client/elicitation#phishing',
    behaviour:
      "A principal of another issuer signs in there; the ID token's issuer and subject are compared with the principal's.",
  }),
  'gateway:consent:link-ends': held({
    spec: 'gateway',
    behaviour: 'A link that is unknown, used or over gives one and the same page.',
  }),
  'gateway:consent:errors-shown': held({
    spec: 'gateway',
    behaviour:
      'What an authorization server says of an error is shown as text, only in the browser that was sent there.',
  }),
  'gateway:consent:page-safe': held({
    spec: 'gateway',
    behaviour: 'Pages run no script, load nothing, are framed by nobody, kept nowhere, and send no referrer.',
  }),
  'gateway:consent:any-input': held({
    spec: 'gateway',
    behaviour: 'Whatever a browser sends to the pages is answered below 500, and finishes nothing.',
  }),
  'gateway:consent:announced': held({
    spec: 'gateway',
    behaviour:
      'Instructions of an endpoint name the backends that wait for the principal’s consent, with the link, and so does the text of the error.',
  }),
} as const;
