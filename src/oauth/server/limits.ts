/**
 * Every limit of the authorization server, with its reason. Limits that an operator may want to change are in the
 * config.
 */
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const authServerLimits = {
  /** From the redirect with the code to the client's token request. */
  codeMs: MINUTE,
  /** A person may have to look for a password. Interactions that are open for longer are abandoned. */
  interactionMs: HOUR,
  /** How long a browser stays signed in. Tokens do not depend on it. */
  signedInMs: 14 * DAY,

  /**
   * How long people who signed in at a provider go on without it: their browser sessions, and their tokens where the
   * provider gave no refresh token to ask with. A working day: who leaves the company at noon is out by midnight.
   */
  unconfirmedMs: 12 * HOUR,

  /** A form has a name, a password and a token. */
  formBytes: 8 * 1024,
  /** Client metadata at registration; the largest ones in use have some 2 KiB. */
  registrationBytes: 16 * 1024,
  /** OAuth parameters of a request: a code or a refresh token, a verifier, an assertion. */
  requestBytes: 32 * 1024,
  /** No legitimate URL is longer. */
  queryChars: 8 * 1024,
  /**
   * An authorization request is stored while the person decides. It has a client id, a redirect URI and a state, none
   * of them long.
   */
  authorizeChars: 4 * 1024,

  /** Wrong passwords for one name from one address: people mistype, programs try lists. */
  failuresPerNameAndAddress: 5,
  /** Wrong passwords for all names from one address: several people may share one. */
  failuresPerAddress: 25,
  /** Wrong passwords for one name from anywhere. High, since an attacker can use it up to lock somebody out. */
  failuresPerName: 100,
  failuresWithinMs: 15 * MINUTE,
  /** Names and addresses that are counted at the same time. The least recently active one is dropped first. */
  countedNames: 10_000,
  /** Password checks are slow on purpose: 32 MiB and most of a tenth of a second each. */
  passwordsAtOnce: 4,
  /** Checks that may wait. Further sign-ins are told to retry later. */
  passwordsWaiting: 64,

  /**
   * Authorization requests. Each creates a record before the client or the person is authenticated. People connect a
   * few clients at a time; several may share an address.
   */
  authorizationsPerAddress: 120,
  authorizationsWithinMs: 10 * MINUTE,
  /**
   * Redirects to the company's provider, and returns from there. Each has us send requests to the provider, and write
   * to the log where it fails. A sign-in has one of both.
   */
  providerStepsPerAddress: 240,
  providerStepsWithinMs: 10 * MINUTE,
  /**
   * All open interactions together: 8 KiB each at worst, so that even a store in memory has room for other records.
   * Beyond this limit, see holdings.ts.
   */
  openInteractions: 4_000,

  /** A client registers once and keeps its registration; one address may be a household or an office. */
  registrationsPerAddress: 60,
  registrationsWithinMs: HOUR,
  /** All registered clients together. Beyond this limit, unused ones are evicted: see holdings.ts. */
  clients: 10_000,
  /** A registration without a token was a trial, or an attempt to fill the store. */
  unusedClientMs: DAY,
  /** Added to the lifetime of a refresh token, after which a client cannot continue without a new sign-in. */
  usedClientExtraMs: 90 * DAY,
  redirectUris: 16,
  redirectUriChars: 2_048,
  clientNameChars: 200,

  /** Client ID metadata documents: 5 KiB, as the draft recommends. */
  metadataDocumentBytes: 5 * 1024,
  metadataDocumentMinMs: MINUTE,
  metadataDocumentMaxMs: DAY,
  /** Metadata documents fetched on behalf of one address, since each makes us send a request to a third party. */
  documentsPerAddress: 60,
  documentsWithinMs: 10 * MINUTE,

  /** A new signing key is made when the newest is this old. Old keys verify until their last token has expired. */
  signingKeyMs: 90 * DAY,

  /** How often the user file is checked for changes. */
  userFileMs: 2 * SECOND,
  userFileChars: 4 * 1024 * 1024,
  users: 10_000,
} as const;
