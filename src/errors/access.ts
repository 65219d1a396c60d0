/** Failures of authentication and authorization. */
import { INTERNAL, INVALID_REQUEST, rows, UNAUTHORIZED } from './row.ts';

export const access = rows(
  { blame: 'client', status: 401, code: UNAUTHORIZED },
  {
    // Authentication: why the credentials are refused. `WWW-Authenticate` says the same to clients that read it.
    credentials_missing: {
      message: 'Authentication required',
      when: 'Neither a token nor a key came with the request. Where an authorization server is configured, `resource_metadata` in `WWW-Authenticate` leads to it.',
    },
    credentials_ambiguous: {
      status: 400,
      code: INVALID_REQUEST,
      message: 'The request has credentials in more than one place',
      when: 'A header is repeated, or the request has two of `Authorization`, the key header and the key parameter. Send exactly one: the gateway does not guess which one is meant.',
    },
    token_invalid: {
      message: 'The token is not valid',
      when: 'The token is malformed, its issuer is not configured, its signature is wrong, or it is not active. The message says which.',
    },
    token_expired: {
      message: 'The token has expired',
      when: 'Get a new token. Most clients refresh it by themselves.',
    },
    audience_missing: {
      message: 'The token names no audience',
      when: 'The token has no `aud`, so it could have been issued for any server. Configure the issuer to put the address of the endpoint into `aud`. If the issuer cannot, but issues tokens for this gateway alone, set `audienceCheckedByVerifier: true`.',
    },
    audience_mismatch: {
      message: 'The token is for another audience',
      when: 'The token was issued for another server: no audience of it is the address of this endpoint or one of `identity.audiences`.',
    },
    key_unknown: {
      message: 'The key is not known',
      when: 'The key was never created in this key file, or it was revoked. `bascule key list` shows the existing keys.',
    },
    key_expired: { message: 'The key has expired', when: 'Create a new key with `bascule key new`.' },
    scope_insufficient: {
      status: 403,
      code: 403,
      message: 'More scopes are needed',
      when: 'The credentials are valid but lack a scope that this operation requires. `data.required` lists all required scopes, `data.missing` those that are missing.',
    },
    issuer_unavailable: {
      blame: 'backend',
      status: 503,
      code: INTERNAL,
      message: 'The token cannot be checked at the moment',
      when: 'The gateway cannot fetch the issuer’s keys or reach its introspection endpoint. The token may be valid: try again.',
    },

    // Policy. The codes are HTTP's on purpose: outside the range that JSON-RPC reserves.
    policy_denied: {
      status: 200,
      code: 403,
      message: 'Denied by policy',
      when: 'A rule of the policy denies the operation, or no rule allows it; `data.rules` has the ids of the rules that decided. Where a decision point outside the gateway denied it, `data.decisionPoint` names it. Denied notifications get HTTP 403; with `denials: http403` at the endpoint, denied requests do too.',
    },
    approval_needed: {
      status: 200,
      code: 403,
      message: 'A person has to approve this call first',
      when: 'A rule with `effect: approval` asks a person before anything is sent to the backend. `data.approval` is the id of the question and `data.url` the page where it is answered, where there is one; `data.rules` has the ids of the rules. Make the same call again once it is approved. Notifications cannot wait for an answer, and members of a batch are all refused until each is approved.',
    },
    approval_denied: {
      status: 200,
      code: 403,
      message: 'A person has denied this call',
      when: 'The person who was asked for an approval said no; `data.approval` is the id of the question. Nothing was sent to the backend. The same call is not asked about again before the time of the question (`limits.approvalMs`) is over.',
    },
    approval_expired: {
      status: 200,
      code: 403,
      message: 'Nobody has approved this call in time',
      when: 'No answer came within `limits.approvalMs`, and silence is a no. Nothing was sent to the backend. Make the call again to ask anew.',
    },
    approval_not_shown: {
      status: 200,
      code: 403,
      message: 'This call cannot be approved: its arguments cannot be shown completely',
      when: 'A rule asks for an approval, and the call is too large or too deep to be shown to the person who would be asked. No one can approve what they cannot see. Send less, or have the rule say `by: other`, where a person can at least deny the call.',
    },
    too_many_approvals: {
      status: 429,
      code: 429,
      message: 'Too many calls wait for an approval',
      when: 'The principal has `limits.approvalsPerPrincipal` questions and approvals open, or all principals together have `limits.approvalsTotal`. Answer some, or wait until they expire.',
    },
    approval_unavailable: {
      blame: 'gateway',
      status: 503,
      code: INTERNAL,
      message: 'The call cannot be approved at the moment',
      when: 'The store that keeps approvals cannot be reached. Nothing was sent to the backend. The log has the cause.',
    },
    decision_unavailable: {
      blame: 'gateway',
      status: 503,
      code: INTERNAL,
      message: 'The request cannot be decided at the moment',
      when: 'A decision point under `policy.decisions` did not answer, or not with a valid answer, and its `onFailure` is `deny`. `data.decisionPoint` names it; `decisions[].fault` of the audit record says why. The request was not sent to a backend.',
    },
    pinned_changed: {
      status: 200,
      code: 403,
      message: 'Held: it is not as it was pinned',
      when: 'The backend offers this tool, prompt or template in another form than the pin file has, or the pin file does not have it, or cannot be read; `data.classes` says what kind of change it is. `bascule pins diff` shows the change, and `bascule pins approve` accepts it.',
    },
    rate_limited: {
      status: 429,
      code: 429,
      message: 'Rate limited',
      when: 'The principal sends more requests a second, or more at the same time, than `rates` allows. `data.limit` names the limit, and `Retry-After` says when to retry.',
    },
    audit_unavailable: {
      blame: 'gateway',
      status: 503,
      code: INTERNAL,
      message: 'The request cannot be recorded in the audit trail',
      when: 'The audit trail cannot be written, or its queue is full, and `audit.onFailure` is `deny`. The log has the cause. The request was not sent to a backend.',
    },
  },
);
