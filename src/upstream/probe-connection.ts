/** A channel during a probe, and `initialize` on it. */
import type { Limits } from '../config/limits.ts';
import type { Failure } from '../errors/failure.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import type { Notification, Request } from '../wire/message.ts';
import type { Revision } from '../wire/revisions.ts';
import { asFailure } from './as-failure.ts';
import type { BackendOptions, Connector, TransportWay } from './backend-options.ts';
import type { Channel } from './channel.ts';
import { type Agreement, askInitialize, type HandshakeHeaders, newestLegacy, readAgreement } from './handshake.ts';
import { ownAnswer } from './legacy-messages.ts';
import type { ProbedChannel } from './probed-channel.ts';
import type { ProbeAnswer, ProbeRequest } from './question.ts';
import { judge, type Transport } from './verdict.ts';

export interface ProbeOptions extends Pick<BackendOptions, 'clock' | 'self' | 'revisions'> {
  readonly notes?: Pick<BackendOptions['notes'], 'tracer'>;
  readonly connector: Pick<Connector, 'transport' | 'connect' | 'older'>;
  /**
   * `probeMs` limits `server/discover`, and an HTTP+SSE stream that the config does not promise. `firstByteMs` limits
   * `initialize`: a process that is slow to start is silent until it runs.
   */
  readonly limits: Pick<Limits, 'probeMs' | 'firstByteMs' | 'legacyHalfMs' | 'restartMaxMs'>;
}

export interface ProbedSession {
  readonly probedChannel: ProbedChannel;
  readonly agreement: Agreement;
}

/**
 * A channel that no upstream session has taken over yet. The probe does not wait for its end: a process may take
 * seconds to exit, and the result is known before.
 */
export class ProbeConnection {
  readonly probedChannel: ProbedChannel;
  #session: Agreement | undefined;

  constructor(probedChannel: ProbedChannel) {
    this.probedChannel = probedChannel;
    probedChannel.attach({
      stray: (message) => {
        answerKindly(probedChannel.channel, message);
        return 'none';
      },
      lost: () => undefined,
    });
  }

  agreed(agreement: Agreement): void {
    this.#session = agreement;
  }

  /** The process and its agreement. Undefined where there is no process, or no agreement. */
  sessionFor({ transport }: TransportWay): ProbedSession | undefined {
    const agreement = this.#session;
    if (transport !== 'stdio' || agreement === undefined) return undefined;
    this.#session = undefined;
    return { probedChannel: this.probedChannel, agreement };
  }

  /** Never rejects. */
  async leave(): Promise<void> {
    await this.endSession();
    await settled(this.probedChannel.channel.close());
  }

  /** Ends the session properly: the backend may count its sessions. Never rejects. */
  async endSession(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    const { channel } = this.probedChannel;
    if (session?.sessionId !== undefined) await settled(channel.forget?.(session.headers));
  }
}

/** Ignores errors: they concern the backend alone. */
async function settled(ending: Promise<void> | undefined): Promise<void> {
  await ending?.catch(() => undefined);
}

type Initialized = { readonly discovery: Discovery } | { readonly failure: Failure; readonly answer: ProbeAnswer };

/**
 * `unanswered`: the `server/discover` request that a process has not answered. If the process is modern and was only
 * slow to start, that answer arrives before the one to `initialize`, and decides.
 */
export async function initialize(
  probing: ProbeConnection,
  options: ProbeOptions,
  unanswered: ProbeRequest | undefined,
  headers: HandshakeHeaders = {},
): Promise<Initialized> {
  const { probedChannel } = probing;
  const { clock, limits, self, connector } = options;
  const introduction = { revision: newestLegacy(options.revisions), info: self, capabilities: '{}', headers };
  const { channel, ids } = probedChannel;
  const heard = (message: Notification | Request) => answerKindly(channel, message);
  const question = askInitialize(channel, ids, introduction, heard, options.notes?.tracer);
  try {
    const answers: Promise<ProbeAnswer | Discovery>[] = [question.within(limits.firstByteMs, clock)];
    if (unanswered !== undefined) answers.push(lateDiscovery(unanswered, connector.transport, options.revisions));
    const first = await Promise.race(answers);
    if (!('kind' in first)) return { discovery: first };
    const initialized = readInitialized(probing, first, options.revisions);
    if ('discovery' in initialized || first.kind !== 'answered' || unanswered === undefined) return initialized;
    // A modern server that was slow to start may refuse `initialize` before it answers `server/discover`.
    const answer = await unanswered.within(limits.probeMs, clock);
    const late = judge(answer, connector.transport, options.revisions);
    return late.kind === 'modern' ? { discovery: late.discovery } : initialized;
  } finally {
    question.drop();
    unanswered?.drop();
  }
}

function lateDiscovery(
  question: ProbeRequest,
  transport: Transport,
  spoken: readonly Revision[] | undefined,
): Promise<Discovery> {
  return new Promise((resolve) => {
    question.answer
      .then((answer) => {
        const verdict = judge(answer, transport, spoken);
        if (verdict.kind === 'modern') resolve(verdict.discovery);
      })
      // An unreadable answer decides nothing; `initialize` does.
      .catch(() => undefined);
  });
}

function readInitialized(
  probing: ProbeConnection,
  answer: ProbeAnswer,
  spoken: readonly Revision[] | undefined,
): Initialized {
  try {
    const agreement = readAgreement(answer, spoken);
    probing.agreed(agreement);
    return { discovery: agreement.discovery };
  } catch (cause) {
    return { failure: asFailure(cause), answer };
  }
}

/** Answers every server request during a probe. */
export function answerKindly(channel: Channel, message: Notification | Request): void {
  // Only the backend cares whether this arrives. The probe itself notices a lost channel.
  if (message.kind === 'request') channel.post(ownAnswer(message), {}).catch(() => undefined);
}
