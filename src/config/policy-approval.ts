/** What has to hold for rules and decision points that ask a person for an approval. */
import { type ApprovalTerms, approvable } from '../policy/approval.ts';
import type { PolicySettings } from '../policy/rules.ts';
import type { ConsoleReading } from './console.ts';
import type { ConfigDocument, Path } from './document.ts';
import type { IdentityReading } from './identity.ts';
import type { RuleDraft } from './policy-shapes.ts';

/** The terms of a rule, and its actions: of those that it may have, where it names none. */
export function readTerms(
  document: ConfigDocument,
  path: Path,
  rule: Pick<RuleDraft, 'effect' | 'by' | 'for' | 'what'>,
): { readonly approval?: ApprovalTerms; readonly what?: readonly string[] } {
  const { effect, by, for: forMs, what } = rule;
  if (effect !== 'approval') {
    for (const key of ['by', 'for'] as const)
      if (rule[key] !== undefined) document.reportMeaningless([...path, key], 'with `effect: approval`');
    return {};
  }
  if (by === undefined)
    document.report(path, {
      message: 'the rule does not say who approves',
      expected: '`by: caller` (the person at the client) or `by: other` (another person, signed in to the console)',
    });
  what?.forEach((action, at) => {
    if (approvable.includes(action)) return;
    const message = `no person can be asked about \`${action}\``;
    document.report([...path, 'what', at], { message, expected: `one of: ${approvable.join(', ')}` });
  });
  return {
    what: what ?? approvable,
    approval: { by: by ?? 'other', ...(forMs !== undefined && { forMs }) },
  };
}

/** Another person approves in the console, so there must be one, and people must be able to sign in to it. */
export function checkApprovals(
  document: ConfigDocument,
  policy: PolicySettings | undefined,
  console: ConsoleReading | undefined,
  { authServer }: IdentityReading,
): void {
  const [who] = placesOfOthers(policy);
  if (who === undefined) return;
  if (console?.rights.approve === undefined) {
    document.report(who, {
      message: 'another person has to approve, and no person may',
      expected: '`approve` under `console`, such as `approve: { who: { groups: [approvers] } }`',
    });
  } else if (authServer === undefined && !console.settings.approveByToken) {
    document.report(who, {
      message: 'another person has to approve, and no person can sign in: there is no `identity.authServer`',
      expected:
        '`identity.authServer`; or `tokens: true` beside `who` of `console.approve`, for tokens of other issuers',
    });
  }
}

function placesOfOthers(policy: PolicySettings | undefined): readonly Path[] {
  const { rules = [], decisions = [] } = policy ?? {};
  return [
    ...rules.flatMap(({ approval }, at): Path[] => (approval?.by === 'other' ? [['policy', 'rules', at, 'by']] : [])),
    ...decisions.flatMap(({ approval }, at): Path[] =>
      approval?.by === 'other' ? [['policy', 'decisions', at, 'approval', 'by']] : [],
    ),
  ];
}
