/** Versions: how a server opens a conversation in each era. */
import { isRevision } from '../../../wire/revisions.ts';
import { metaKeys } from '../../../wire/vocabulary.ts';
import { objectIn, type PeerReply, summary } from '../../peer/reply.ts';
import {
  broken,
  type CheckVerdict,
  codes,
  expectError,
  expectResult,
  held,
  legacy,
  modern,
  notApplicable,
  notTested,
  type TalkCheck,
  unless,
} from '../check.ts';
import type { Lab } from '../lab.ts';

const UNKNOWN_VERSION = '1900-01-01';

export const openingChecks: readonly TalkCheck[] = [
  {
    id: 'lifecycle:initialize:basic',
    behaviour: '`initialize` is answered with a version, capabilities, and the name and version of the server.',
    spec: '2025-11-25/basic/lifecycle#initialization',
    level: 'must',
    revisions: legacy,
    run: async (_talk, { openings }) => {
      const { talk, reply } = openings.get('legacy') ?? {};
      const info = objectIn(talk?.opening.serverInfo);
      const isNamed = typeof info?.name === 'string' && typeof info.version === 'string';
      return isNamed ? held : broken(reply as PeerReply, '`serverInfo` has no name or no version');
    },
  },
  {
    id: 'lifecycle:version:match',
    behaviour: 'A version that the server supports is answered with the same version.',
    spec: '2025-11-25/basic/lifecycle#version-negotiation',
    level: 'must',
    revisions: legacy,
    run: (_talk, lab) => versionsMatch(lab),
  },
  {
    id: 'lifecycle:version:server-fallback-latest',
    behaviour: 'A version that the server does not know is answered with one that it supports, not with an error.',
    spec: '2025-11-25/basic/lifecycle#version-negotiation',
    level: 'must',
    revisions: legacy,
    run: async (_talk, lab) => {
      const opening = await lab.session(UNKNOWN_VERSION);
      if ('finding' in opening) return notTested(opening.detail);
      const version = opening.reply.answer?.result?.protocolVersion;
      return unless(!isRevision(version) && `${summary(opening.reply)}; expected a version that exists`, opening.reply);
    },
  },
  {
    id: 'lifecycle:ping',
    behaviour: '`ping` is answered with an empty result.',
    spec: '2025-11-25/basic/utilities/ping#behavior-requirements',
    level: 'must',
    revisions: legacy,
    run: async (talk) => expectResult(await talk.request('ping')),
  },
  {
    id: 'lifecycle:discover:basic',
    behaviour: '`server/discover` is answered with the supported versions and the capabilities.',
    spec: '2026-07-28/server/discover#discoverresult',
    level: 'must',
    revisions: modern,
    run: async ({ opening, revision }, { openings }) => {
      const versions = opening.supportedVersions;
      const isRight = Array.isArray(versions) && versions.includes(revision);
      return isRight
        ? held
        : broken(openings.get('modern')?.reply as PeerReply, 'the version in use is not in the list');
    },
  },
  {
    id: 'hosting:http:modern:discover-response-shape',
    behaviour: 'Results carry the name and version of the server in `_meta`.',
    spec: '2026-07-28/basic#_meta',
    level: 'should',
    revisions: modern,
    run: async ({ opening }, { openings }) => {
      const info = objectIn(objectIn(opening._meta)?.[metaKeys.serverInfo]);
      const complaint = typeof info?.name !== 'string' && `\`_meta\` has no ${metaKeys.serverInfo}`;
      return unless(complaint, openings.get('modern')?.reply as PeerReply);
    },
  },
  {
    id: 'gateway:modern:revision-unsupported',
    behaviour: 'An unknown version is refused with -32022 (HTTP 400), naming the supported and the requested ones.',
    spec: '2026-07-28/basic/versioning#protocol-version-negotiation',
    level: 'must',
    revisions: modern,
    run: async (talk) => {
      const reply = await talk.request(
        'server/discover',
        {},
        { meta: { [metaKeys.protocolVersion]: UNKNOWN_VERSION }, headers: { 'mcp-protocol-version': UNKNOWN_VERSION } },
      );
      const verdict = expectError(reply, { codes: [codes.unsupportedVersion], status: 400 });
      if (verdict.outcome !== 'held') return verdict;
      const data = objectIn(reply.answer?.error?.data);
      const supported = data?.supported;
      if (!Array.isArray(supported) || !supported.includes(talk.revision))
        return broken(reply, '`data.supported` does not name the versions of the server');
      return unless(data?.requested !== UNKNOWN_VERSION && '`data.requested` is not the requested version', reply);
    },
  },
  {
    id: 'gateway:modern:meta-missing#capabilities',
    behaviour: 'A request without client capabilities in `_meta` is refused with -32602 (HTTP 400).',
    spec: '2026-07-28/basic#_meta',
    level: 'must',
    revisions: modern,
    run: async (talk) => {
      const reply = await talk.request('server/discover', {}, { meta: { [metaKeys.clientCapabilities]: undefined } });
      return expectError(reply, { codes: [codes.invalidParams], status: 400 });
    },
  },
  {
    id: 'gateway:legacy:initialize-modern-only',
    behaviour: 'A server without legacy versions names those that it has in the error for `initialize`.',
    spec: '2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions',
    level: 'should',
    revisions: modern,
    run: async (talk, { openings }) => {
      const reply = openings.get('legacy')?.reply;
      if (reply === undefined) return notTested('the legacy era was not asked for');
      if (openings.get('legacy')?.talk !== undefined) return notApplicable('the server speaks the legacy era, too');
      const text = JSON.stringify(reply.answer?.error ?? {});
      return unless(!text.includes(talk.revision) && `${summary(reply)} names no version`, reply);
    },
  },
];

/** A version is supported if it was the answer to any question. */
async function versionsMatch(lab: Lab): Promise<CheckVerdict> {
  const answers = new Map<string, { readonly version: unknown; readonly reply: PeerReply }>();
  for (const asked of legacy) {
    const opening = await lab.session(asked);
    if ('finding' in opening) return notTested(opening.detail);
    answers.set(asked, { version: opening.reply.answer?.result?.protocolVersion, reply: opening.reply });
  }
  const supported = new Set([...answers.values()].map(({ version }) => version));
  for (const [asked, { version, reply }] of answers)
    if (version !== asked && supported.has(asked))
      return broken(reply, `${asked} is answered with ${String(version)}, although the server supports it`);
  return held;
}
