/** Differences that are meant, each with the commit and the reason. One that is due and is not seen is reported. */
import type { Expected } from './compare.ts';

interface Group {
  readonly commit: string;
  readonly reason: string;
  readonly exchange: RegExp;
  /** A line of the old transcript and one of the new, by channel. `none`: there is no such line. */
  readonly lines: readonly { readonly channel: RegExp; readonly before: RegExp; readonly after: RegExp }[];
}

const none = /^$/;

const groups: readonly Group[] = [
  {
    commit: '2a52f05',
    reason: 'A question with more members than a question needs is refused before it costs memory.',
    exchange: /^mended crowded \/ client \/ a question with too many members$/,
    lines: [
      { channel: /^client$/, before: /"method":"elicitation\/create"/, after: /backend_invalid/ },
      { channel: /^client answer 1$/, before: /"action":"accept"/, after: none },
      { channel: /^backend b202511$/, before: /"action":"accept"/, after: /"id":"ask-1","error".*backend_invalid/ },
      { channel: /^backend b202511 stream 2$/, before: /Heard .*accept/, after: /Heard .*backend_invalid/ },
    ],
  },
  {
    commit: '2a52f05',
    reason: 'A page to visit whose description is ambiguous is no question: the client gets the error as it is.',
    exchange: /^mended twins \/ client \/ an ambiguous page$/,
    lines: [{ channel: /^client$/, before: /"input_required".*"Mode"/, after: /"error".*"elicitations".*"Mode"/ }],
  },
  {
    commit: '2a52f05',
    reason: 'The same: there is nothing to answer.',
    exchange: /^mended twins \/ client \/ an ambiguous page, retry \d$/,
    lines: [
      { channel: /^client$/, before: /"inputResponses"/, after: none },
      { channel: /^backend b202511$/, before: /"name":"visit_twins"/, after: none },
    ],
  },
  {
    commit: '748578f',
    reason: 'A request with a requestState that is none is settled, at once, and not only by the shutdown.',
    exchange: /^mended state \/ shutdown$/,
    lines: [{ channel: /^audit$/, before: /"shutting_down"/, after: /"invalid_request_state".*"outcome":"error"/ }],
  },
  {
    commit: '748578f',
    reason: 'A later round is authorized by the rules of that moment, also where there were none when the call began.',
    exchange: /^mended rounds \/ client \/ a policy comes between two rounds$/,
    lines: [
      { channel: /^client$/, before: /"method":"roots\/list"/, after: /"policy_denied"/ },
      { channel: /^client answer [23]$/, before: /"jsonrpc":"2.0","id":[23],"result"/, after: none },
      { channel: /^backend bmodern$/, before: /"requestState":"state-1"/, after: none },
      { channel: /^backend bmodern stream [345]$/, before: /"result"/, after: none },
    ],
  },
  {
    commit: '748578f',
    reason: 'The same, in the log.',
    exchange: /^mended rounds \/ shutdown$/,
    lines: [{ channel: /^log$/, before: none, after: /"policy_denied".*"name":"thrice"/ }],
  },
  {
    commit: '736bfbe',
    reason: 'What an older revision lacks is called by its name in the specification.',
    exchange: /^(pairs|stdio) .*\/ tool visit$/,
    lines: [
      {
        channel: /^client( stream| stdout)?$/,
        before: /"revision_too_old","needs":"the error -32042, a page has to be visited first"/,
        after: /"revision_too_old","needs":"the error -32042 \(URL elicitation required\)"/,
      },
    ],
  },
];

export const expectedDifferences: readonly Expected[] = groups.flatMap(({ lines, ...group }) =>
  lines.map((line) => ({ ...group, ...line })),
);
