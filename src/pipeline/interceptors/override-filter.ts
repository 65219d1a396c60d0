/** The list of an endpoint's only backend under the endpoint's overrides, as it passes: the last step of a list. */
import type { Entry } from '../../catalog/entries.ts';
import type { Lists } from '../../catalog/lists.ts';
import { type OverriddenNames, overridesAt } from '../../catalog/overrides/names.ts';
import { overriddenEntries } from '../../catalog/overrides/overlay.ts';
import { Failure } from '../../errors/failure.ts';
import type { CallOutcome } from '../../exchange/call.ts';
import { listed } from '../../policy/actions.ts';
import { checkOneList, joinedElements, nameIn } from '../../policy/filtered-list.ts';
import { spliceMessage } from '../../wire/compose.ts';
import type { ResultResponse } from '../../wire/message.ts';
import type { ListName } from '../../wire/methods.ts';
import { elementsAt, skimMessage } from '../../wire/skim.ts';
import { member, slice } from '../../wire/values.ts';
import type { RequestContext } from '../context.ts';

/** Never throws. */
export function withOverrides(
  { endpoint, row, resolved: { backend } }: RequestContext,
  { overrideReports }: Lists,
  outcome: CallOutcome,
): CallOutcome {
  const { list } = row;
  if (outcome.kind !== 'result' || (list !== 'tools' && list !== 'prompts')) return outcome;
  const { kind } = listed[list];
  const names = overridesAt(endpoint)?.of(backend, kind);
  if (names === undefined) return outcome;
  try {
    const { message, own, withheld } = overriddenPage(outcome.message, list, backend, names);
    const isLast = member(message.result, 'nextCursor') === undefined;
    overrideReports.page(endpoint, kind, { backend, own, withheld, isLast });
    return { ...outcome, message };
  } catch (cause) {
    // A list that cannot be read is not passed on.
    const failure = cause instanceof Failure ? cause : new Failure('internal_error', { cause });
    return { kind: 'failure', failure };
  }
}

function overriddenPage(message: ResultResponse, list: ListName, backend: string, names: OverriddenNames) {
  checkOneList(message, list);
  const { bytes, result } = message;
  const span = member(result, list);
  const elements = (span && elementsAt(bytes, span)) ?? [];
  // Clients may read different names of an entry without one: it is left out.
  const entries = elements.flatMap((element): readonly Entry[] => {
    const key = nameIn(bytes, element, list);
    return key === undefined ? [] : [{ key, bytes: slice(bytes, element), span: element }];
  });
  const own = entries.map(({ key }) => key);
  const shown = overriddenEntries(backend, entries, names);
  const isSame = shown.entries.length === elements.length && shown.entries.every((one, at) => one === entries[at]);
  if (span === undefined || isSame) return { message, own, withheld: shown.withheld };
  const edit = joinedElements(
    span,
    shown.entries.map((entry) => entry.bytes),
  );
  return { message: skimMessage(spliceMessage(message, [edit])) as ResultResponse, own, withheld: shown.withheld };
}
