/** Consent of a user for a backend: the link belongs only to the principal that called. */
import { held } from '../requirement.ts';

export const gatewayConsent = {
  'gateway:consent:principal-alone': held({
    spec: '2026-07-28/client/elicitation#phishing',
    behaviour:
      'The person who opens a connect link must authenticate as the principal that the link was made for; other people are refused, and the page does not name the principal.',
  }),
  'gateway:consent:browser-bound': held({
    spec: '2026-07-28/client/elicitation#phishing',
    behaviour: 'The redirect of an authorization server is accepted once, and only in the browser that was sent there.',
  }),
  'gateway:consent:foreign-issuer': held({
    spec: '2026-07-28/client/elicitation#phishing',
    behaviour:
      "A principal of another issuer signs in there; the ID token's issuer and subject are compared with the principal's.",
  }),
  'gateway:consent:link-ends': held({
    spec: 'gateway',
    behaviour: 'An unknown, a used and an expired link all give the same page.',
  }),
  'gateway:consent:errors-shown': held({
    spec: 'gateway',
    behaviour:
      'The error text of an authorization server is shown as plain text, and only in the browser that was sent there.',
  }),
  'gateway:consent:page-safe': held({
    spec: 'gateway',
    behaviour: 'Pages run no script, load no resources, cannot be framed or cached, and send no referrer.',
  }),
  'gateway:consent:any-input': held({
    spec: 'gateway',
    behaviour: 'Invalid requests to the pages are answered with a status below 500, and complete no authorization.',
  }),
  'gateway:consent:announced': held({
    spec: 'gateway',
    behaviour:
      'Instructions of an endpoint name the backends that wait for the principal’s consent, with the link, and so does the text of the error.',
  }),
} as const;
