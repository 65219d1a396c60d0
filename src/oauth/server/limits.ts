/** Every bound of the authorization server, with its reason. What people may want to change stands in the config instead. */
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const authServerLimits = {
  /** From the page with the code to the client's own request for a token: one redirect. */
  codeMs: MINUTE,
  /** A person may have to look for a password; what lies open for longer was forgotten. */
  interactionMs: HOUR,
  /** How long a browser stays signed in. Tokens do not depend on it. */
  signedInMs: 14 * DAY,

  /** Forms have a name, a password and a token. */
  formBytes: 8 * 1024,
  /** Client metadata at registration; the largest ones in use have some 2 KiB. */
  registrationBytes: 16 * 1024,
  /** OAuth parameters of a request: a code or a refresh token, a verifier, an assertion. */
  requestBytes: 32 * 1024,
  /** Every address that is longer is an attempt at something. */
  queryChars: 8 * 1024,
  /** A question for a token is kept while a person thinks: a client's address, a redirect and a state, none of them long. */
  authorizeChars: 4 * 1024,

  /** A wrong password, for one name from one address: people mistype, programs try lists. */
  failuresPerNameAndAddress: 5,
  /** For all names from one address: several people may share one. */
  failuresPerAddress: 25,
  /** For one name from anywhere. High, since whoever wants to can use it up for somebody else. */
  failuresPerName: 100,
  failuresWithinMs: 15 * MINUTE,
  /** Names and addresses that are counted at the same time. The one that was quiet for longest is forgotten first. */
  countedNames: 10_000,
  /** Passwords are slow to check, on purpose: 32 MiB and most of a tenth of a second each. */
  passwordsAtOnce: 4,
  /** Whoever comes when so many wait already is asked to come back. */
  passwordsWaiting: 64,

  /** Each leaves a record before anybody has proven anything. People connect a few clients at a time; several may share an address. */
  authorizationsPerAddress: 120,
  authorizationsWithinMs: 10 * MINUTE,
  /**
   * Questions that lie open, all together: some 8 KiB each at worst, so that even a store in memory has room beside
   * them. Beyond, see holdings.ts.
   */
  openInteractions: 4_000,

  /** Every client registers itself once and keeps that; from one address a household or an office of them. */
  registrationsPerAddress: 60,
  registrationsWithinMs: HOUR,
  /** All registered clients together. Beyond, unused ones make room: see holdings.ts. */
  clients: 10_000,
  /** A registration that nobody got a token with was a trial, or an attempt to fill the store. */
  unusedClientMs: DAY,
  /** Beyond the life of a refresh token nobody can come back by it. */
  usedClientExtraMs: 90 * DAY,
  redirectUris: 16,
  redirectUriChars: 2_048,
  clientNameChars: 200,

  /** Client-ID metadata documents: what the draft recommends, 5 KiB. */
  metadataDocumentBytes: 5 * 1024,
  metadataDocumentMinMs: MINUTE,
  metadataDocumentMaxMs: DAY,
  /** Documents that are fetched because of one address, since each of them makes us call somebody. */
  documentsPerAddress: 60,
  documentsWithinMs: 10 * MINUTE,

  /** A new signing key is made when the newest is this old; old ones verify until no token of theirs is left. */
  signingKeyMs: 90 * DAY,

  /** How often the file of users is looked at. */
  userFileMs: 2 * SECOND,
  userFileChars: 4 * 1024 * 1024,
  users: 10_000,
} as const;
