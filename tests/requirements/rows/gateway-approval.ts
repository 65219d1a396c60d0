/** `effect: approval`: a person is asked before anything is sent to a backend. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayApproval = {
  'gateway:approval:config': held({
    spec: 'gateway',
    behaviour:
      'A rule with `effect: approval` names who approves; `by: other` without a person who may, and actions that no person can be asked about, are config errors. `policy check`, `test` and `rehearse` know the effect.',
  }),
  'gateway:approval:caller': held({
    spec: 'gateway',
    behaviour:
      'With `by: caller` a legacy client is asked by an elicitation and a modern one by `input_required`, with the redacted arguments; nothing but an acceptance sends the call.',
  }),
  'gateway:approval:other': held({
    spec: 'gateway',
    behaviour:
      'With `by: other` only another person who signed in with a password approves: no key, no service account, not the caller. Tokens of people only where the config says so.',
  }),
  'gateway:approval:exact': held({
    spec: 'gateway',
    behaviour:
      'An approval is of one call: another argument, another spelling of a number, another principal, client, endpoint or rule is another call.',
  }),
  'gateway:approval:once': held({
    spec: 'gateway',
    behaviour: 'An approval is taken by one call, over replicas too; a replayed answer is asked about anew.',
  }),
  'gateway:approval:for': held({
    spec: 'gateway',
    behaviour: 'With `for` an approval holds for the same call until its time is over.',
  }),
  'gateway:approval:silence': held({
    spec: 'gateway',
    behaviour: 'A question without an answer in time is a denial, with the id of the question.',
  }),
  'gateway:approval:again': held({
    spec: 'gateway',
    behaviour: 'The policy in force decides again before an approved call is sent: a denial by then denies it.',
  }),
  'gateway:approval:records': held({
    spec: 'gateway',
    behaviour: 'The audit trail has a record each for asked, answered, executed and outcome, under one id.',
  }),
  'gateway:approval:audit': held({
    spec: 'gateway',
    behaviour: 'In audit mode the call is sent, and its record has the rules that would have asked.',
  }),
  'gateway:approval:together': held({
    spec: 'gateway',
    behaviour:
      'A notification that needs an approval is denied; in a batch one member that is not approved denies all; a task is asked about when it is created.',
  }),
  'gateway:approval:page': held({
    spec: 'gateway',
    behaviour:
      'A client that cannot be asked gets an error that names the page, where there is one; its next call finds the same question.',
  }),
  'gateway:approval:preview': held({
    spec: 'gateway',
    behaviour:
      'What is shown is what runs: an answer names the hash of the preview, and a call that cannot be shown completely can only be denied.',
  }),
  'gateway:approval:bounded': held({
    spec: 'gateway',
    behaviour: 'Questions are bounded in all and for each principal; the same call by the same caller is one question.',
  }),
  'gateway:approval:recipe': held({
    spec: 'gateway',
    behaviour: 'The recipe of docs/approvals.md does what it says.',
  }),
  'gateway:approval:decision-point': held({
    spec: 'gateway',
    behaviour:
      'A decision point that answers `approval` has a person asked as its `approval` says; without that it denies.',
  }),
} as const satisfies Record<`gateway:${string}`, Requirement>;
