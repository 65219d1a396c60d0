/** Calls that wait for a person: what each would do, and the two answers. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { post, useFacts } from './api.ts';
import type { ApprovalFacts, ApprovalsAnswer } from './facts.ts';
import { age, span } from './format.ts';
import { Pre, Section, Trouble } from './parts.ts';

export function ApprovalsPage({ selected }: { readonly selected: string | undefined }) {
  const { value, error, again } = useFacts<ApprovalsAnswer>('/approvals', {}, 2_000);
  const [failed, setFailed] = useState<string | undefined>(undefined);
  const [told, setTold] = useState('');
  const answer = async (approval: ApprovalFacts, given: 'approve' | 'deny') => {
    setFailed(undefined);
    const { id, preview } = approval;
    await post('/approvals/answer', { id, answer: given, preview: preview.hash }).then(
      () => setTold(`${given === 'approve' ? 'Approved' : 'Denied'}: ${titleOf(approval)}`),
      (cause: Error) => setFailed(cause.message),
    );
    again();
  };
  if (value === undefined) return html`<${Trouble} error=${error} />`;
  const { now, approvals } = value;
  return html`<${Trouble} error=${failed ?? error} />
    <p role="status" class="soft">${told}</p>
    ${
      approvals.length === 0 &&
      html`<${Section} title="Approvals"><p class="empty">No call waits for you${selected === undefined ? '' : ': the one of your link was answered, is over, or is not yours to answer'}.</p></${Section}>`
    }
    ${approvals.map(
      (approval) =>
        html`<${One} key=${approval.id} approval=${approval} now=${now} isSelected=${approval.id === selected} answer=${answer} />`,
    )}`;
}

function titleOf({ name, method, backend }: ApprovalFacts): string {
  return `${name ?? method} at ${backend}`;
}

function One({
  approval,
  now,
  isSelected,
  answer,
}: {
  readonly approval: ApprovalFacts;
  readonly now: number;
  readonly isSelected: boolean;
  readonly answer: (approval: ApprovalFacts, given: 'approve' | 'deny') => Promise<void>;
}) {
  const { id, caller, client, endpoint, method, rules, preview, askedAt, until, forMs, isOwn, whyNot } = approval;
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    if (isSelected) document.getElementById(id)?.scrollIntoView({ block: 'nearest' });
  }, [isSelected]);
  const give = (given: 'approve' | 'deny') => async () => {
    setBusy(true);
    await answer(approval, given);
    setBusy(false);
  };
  const times = forMs === undefined ? 'Once' : `For ${forMs / 60_000} min, with these arguments`;
  const facts = [
    ['Caller', `${caller}${isOwn ? ' (you)' : ''}${client === undefined ? '' : `, with ${client}`}`],
    ['Call', `${method} at ${endpoint}`],
    ['Holds', times],
    ['Asked by', rules.join(', ')],
    ['Asked', `${age(askedAt, now)}, ends in ${span(now, until)}`],
  ] as const;
  return html`<div id=${id} class=${isSelected ? 'selected' : ''}><${Section} title=${titleOf(approval)}>
    <dl class="facts">${facts.map(([title, text]) => html`<div><dt>${title}</dt><dd>${text}</dd></div>`)}</dl>
    <h3>Arguments</h3>
    ${
      preview.text === '' && preview.isComplete
        ? html`<p class="soft">None</p>`
        : html`<${Pre} label=${`Arguments of ${titleOf(approval)}`} text=${`${preview.text}${preview.isComplete ? '' : '\n… not complete'}`} />`
    }
    ${whyNot !== undefined && html`<p id=${`${id}-why`} class="soft">${whyNot}.</p>`}
    <div class="acts">
      <button type="button" disabled=${isBusy || whyNot !== undefined} aria-describedby=${whyNot === undefined ? undefined : `${id}-why`} onClick=${give('approve')}>Approve</button>
      <button type="button" class="quiet" disabled=${isBusy} onClick=${give('deny')}>Deny</button>
    </div>
  </${Section}></div>`;
}
