/** One call: who, what, how it was decided, where its time went, and its bodies where they are recorded. */
import { html } from 'htm/preact';
import { useFacts } from './api.ts';
import type { OneCall } from './facts.ts';
import { age, clock, milliseconds } from './format.ts';
import { Badge, Era, Pre, Section, Trouble } from './parts.ts';

export function CallDetail({ id, close }: { readonly id: number; readonly close: () => void }) {
  const { value, error } = useFacts<OneCall>('/call', { id });
  return html`<p><button type="button" class="quiet" onClick=${close}>Back to all calls</button></p>
    <${Trouble} error=${error} />${value && html`<${Facts} call=${value} />`}`;
}

function Facts({ call }: { readonly call: OneCall }) {
  const { timings, decision } = call;
  return html`<${Section} title=${call.name ?? call.method} aside=${`${clock(call.at)}, ${age(call.at, call.now)}`}>
      <dl class="facts">
        <div><dt>Outcome</dt><dd><${Badge} state=${call.outcome} /> ${call.reason ?? ''}</dd></div>
        <div><dt>Method</dt><dd class="mono">${call.method}</dd></div>
        <div><dt>Endpoint</dt><dd class="mono">${call.endpoint}</dd></div>
        <div><dt>Who</dt><dd>${call.who}</dd></div>
        <div><dt>Client</dt><dd>${call.client ?? 'without a name'} <${Era} era=${call.era} revision=${call.revision} /></dd></div>
        <div><dt>Session</dt><dd>${call.session === undefined ? 'none' : html`<code>${call.session}</code>`}</dd></div>
        <div><dt>Decided by</dt><dd>${decision.rules.length === 0 ? 'no rule' : decision.rules.map((rule) => html`<code>${rule}</code> `)}
          <span class="soft">config generation ${decision.generation}</span>
          ${decision.wouldDeny && html`<br /><span class="soft">in audit mode, would deny: ${decision.wouldDeny.join(', ') || 'no rule allows it'}</span>`}</dd></div>
      </dl>
    </${Section}>
    <${Section} title="Time" aside=${milliseconds(timings.ms)}>
      ${
        timings.backends.length === 0
          ? html`<p class="empty">The gateway answered by itself.</p>`
          : html`<ul class="bars">${timings.backends.map((one) => html`<${Bar} ...${one} whole=${timings.ms} />`)}</ul>
            <p class="soft">In the gateway itself: ${milliseconds(Math.max(0, timings.ms - (timings.atBackends ?? 0)))}</p>`
      }
    </${Section}>
    <${Section} title="Bodies">${
      call.bodies === undefined
        ? html`<p class="empty">${call.recordsBodies ? 'They are no longer kept.' : 'They are not recorded: `record: bodies` under `console` in the config records them, redacted.'}</p>`
        : html`<h3>Request</h3><${Pre} label="Request" text=${call.bodies.request ?? 'none'} /><h3>Response</h3><${Pre} label="Response" text=${call.bodies.response ?? 'none'} />`
    }</${Section}>`;
}

interface Timing {
  readonly backend: string;
  readonly afterMs: number;
  readonly ms?: number;
  readonly code?: number;
  readonly whole: number;
}

/** As SVG: the content security policy allows no style attributes. */
function Bar({ backend, afterMs, ms, code, whole }: Timing) {
  const scale = (value: number) => Math.min(100, (100 * value) / Math.max(whole, 0.01));
  const width = Math.max(0.5, scale(ms ?? whole - afterMs));
  return html`<li><span>${backend}${code !== undefined && html` <span class="soft">error ${code}</span>`}</span>
    <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="8" /><rect x=${scale(afterMs)} width=${width} height="8" /></svg>
    <span class="number">${ms === undefined ? 'runs' : milliseconds(ms)}</span></li>`;
}
