/**
 * SERVER spans: one for each request and notification of a client. Whose trace it is, and whether it is exported, is
 * decided before anything is built.
 */
import { createHash } from 'node:crypto';
import type { MessageEnding, MessageObserver } from '../../exchange/observer.ts';
import type { MessageTracer } from '../../exchange/trace.ts';
import type { RequestContext } from '../../pipeline/context.ts';
import { decidedRuling } from '../../policy/authorization-request.ts';
import { Denied } from '../../policy/refusals.ts';
import { inOnePiece } from '../../wire/compose.ts';
import { skimMessage } from '../../wire/skim.ts';
import { newTraceId } from './ids.ts';
import { MessageTrace } from './message-trace.ts';
import { attribute, cut, overHttp, overPipe } from './names.ts';
import type { SpanAttributes, SpanSink } from './open-span.ts';
import { errorFault, operationOf, type SpanFault, toolFault, withFault } from './operation.ts';
import { readerOfHeaders, readerOfMeta } from './read-fields.ts';
import { Rounds } from './rounds.ts';
import { isSampled } from './sampler.ts';
import type { TraceSettings, TraceTrust } from './settings.ts';
import { listedBaggage, placeFrom } from './trace-context.ts';

const noFields = (): undefined => undefined;

export class MessageSpans implements MessageTracer<RequestContext>, MessageObserver<RequestContext> {
  readonly #settings: TraceSettings;
  readonly #baggage: ReadonlySet<string>;
  readonly #sink: SpanSink;
  readonly #rounds = new Rounds();

  constructor(settings: TraceSettings, sink: SpanSink) {
    this.#settings = settings;
    this.#baggage = new Set(settings.baggage);
    this.#sink = sink;
  }

  /**
   * The context in `_meta` is the parent, and that of HTTP a link; where there is only the latter, it is the parent.
   * https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta
   */
  trace(context: RequestContext): MessageTrace {
    const trust = this.#settings.propagates ? trustOf(context) : 'none';
    const { message } = context;
    const inMeta = trust === 'none' || !('params' in message) ? noFields : readerOfMeta(message);
    const inHeaders = trust === 'none' ? noFields : readerOfHeaders(context.header);
    const [nearest, other] = [placeFrom(inMeta), placeFrom(inHeaders)];
    const sender = nearest ?? other;
    const parent = trust === 'parent' ? sender : undefined;
    const traceId = parent?.traceId ?? newTraceId();
    const sampled = isSampled(this.#settings.sampler, traceId, parent);
    const former = sampled ? this.#rounds.before(message) : undefined;
    const linked = parent === undefined ? [nearest, other, former] : [nearest && other, former];
    return new MessageTrace({
      traceId,
      isSampled: sampled,
      tracestate: parent?.tracestate,
      // Baggage of a sender that is not trusted goes nowhere.
      baggage: trust === 'parent' ? listedBaggage(inMeta('baggage') ?? inHeaders('baggage'), this.#baggage) : undefined,
      parent,
      links: sampled ? linked.filter((place) => place !== undefined) : [],
      sink: this.#sink,
    });
  }

  began(): void {
    // The trace was made before: what is decided about a message before it is observed belongs to it, too.
  }

  acknowledged(context: RequestContext): void {
    this.ended(context, { outcome: 'result' });
  }

  ended(context: RequestContext, ending: MessageEnding): void {
    const { trace, message } = context;
    if (!(trace instanceof MessageTrace) || trace.span === undefined) return;
    if (message.kind !== 'request' && message.kind !== 'notification') return;
    if (ending.outcome === 'asked') this.#rounds.asked(ending.response, trace.span.place);
    trace.span.end(() => {
      const { name, attributes } = operationOf(message, message.kind === 'request' ? message.id.raw : undefined);
      Object.assign(attributes, factsOf(context, trace, ending));
      return withFault({ name, attributes }, faultOf(context, trace, ending));
    });
  }
}

/** What becomes of the context that the sender gives: strangers must not choose trace ids, or what is exported. */
function trustOf({ endpoint, principal, connection }: RequestContext): TraceTrust {
  const isKnown = principal.kind !== 'local' || connection?.via === 'stdio';
  return endpoint.traces ?? (isKnown ? 'parent' : 'link');
}

function factsOf(context: RequestContext, trace: MessageTrace, { outcome, failure }: MessageEnding): SpanAttributes {
  const { endpoint, generation, session, connection, credentials, target } = context;
  const revision = session?.client.revision ?? context.client?.revision;
  const ruling = context.authorization && decidedRuling(context.authorization);
  const decision = failure instanceof Denied ? 'deny' : context.authorization === undefined ? undefined : 'allow';
  const rules = failure instanceof Denied ? failure.rules : ruling?.rules;
  const address = credentials === 'local' ? '' : generation.addresses.of(credentials);
  return {
    [attribute.endpoint]: endpoint.path,
    [attribute.generation]: generation.config.generation,
    [attribute.outcome]: outcome,
    ...(connection?.via === 'stdio' ? overPipe : overHttp),
    ...(address !== '' && { [attribute.clientAddress]: address }),
    ...(revision !== undefined && { [attribute.revision]: revision }),
    ...(session !== undefined && connection === undefined && { [attribute.session]: shownSession(session.id) }),
    ...(target !== undefined && { [attribute.backend]: target.backend }),
    ...(trace.bridging !== undefined && { [attribute.bridge]: trace.bridging }),
    ...(decision !== undefined && { [attribute.decision]: decision }),
    ...(rules !== undefined && rules.length > 0 && { [attribute.rules]: rules.map((rule) => cut(rule)) }),
  };
}

/** The id opens the session, so it is a secret. A digest tells sessions apart as well. */
function shownSession(id: string): string {
  return createHash('sha256').update(id).digest('base64url').slice(0, 16);
}

function faultOf({ era }: RequestContext, trace: MessageTrace, ending: MessageEnding): SpanFault | undefined {
  const { failure, outcome, response } = ending;
  if (failure !== undefined) {
    const code = failure.row[era];
    const text = failure.reason === 'internal_error' ? failure.row.message : failure.message;
    return { type: String(code), code, text };
  }
  if (outcome === 'error') {
    const message = response && skimMessage(inOnePiece(response));
    return message?.kind === 'error' ? errorFault(message) : { type: 'error' };
  }
  return outcome === 'result' && trace.isToolError ? toolFault : undefined;
}
