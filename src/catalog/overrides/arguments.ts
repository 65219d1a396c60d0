/**
 * The arguments that a backend gets: the client's, byte for byte, and behind them those that the config sets. Two
 * members never mean the same argument, neither exactly nor to a reader that ignores case.
 */
import { Failure } from '../../errors/failure.ts';
import { type Edit, spliceMessage } from '../../wire/compose.ts';
import { folded } from '../../wire/fold.ts';
import type { ObjectSpan, Request } from '../../wire/message.ts';
import { membersAt, skimMessage } from '../../wire/skim.ts';
import { member } from '../../wire/values.ts';
import type { ArgumentOverride } from './settings.ts';

/** The request with its final arguments. Throws a Failure where the client sends what it cannot. */
export function withFinalArguments(message: Request, overrides: readonly ArgumentOverride[]): Request {
  const { bytes, params } = message;
  const given = member(params, 'arguments');
  if (params === undefined) throw new Failure('invalid_params');
  if (given === undefined) return spliced(message, appended(params, [`"arguments":{${membersOf(overrides)}}`]));
  const object = membersAt(bytes, given);
  if (object === undefined) throw new Failure('invalid_params', { message: 'arguments must be an object' });
  const missing = missingOf(object, overrides);
  return missing.length === 0 ? message : spliced(message, appended(object, [membersOf(missing)]));
}

function missingOf({ members }: ObjectSpan, overrides: readonly ArgumentOverride[]): readonly ArgumentOverride[] {
  const byFold = new Map(overrides.map((one) => [folded(one.argument), one]));
  const longest = Math.max(...[...byFold.keys()].map((fold) => fold.length));
  const sent = new Set<ArgumentOverride>();
  for (const { key } of members) {
    // Folding never makes a name shorter.
    const override = key.length > longest ? undefined : byFold.get(folded(key));
    if (override === undefined) continue;
    const { argument, isFixed } = override;
    if (isFixed)
      throw new Failure('fixed_argument', {
        message: `The gateway sets the argument ${argument}: leave ${key} out`,
        data: { argument },
      });
    if (key !== argument)
      throw new Failure('ambiguous_json', { message: `${key} differs from ${argument} only in case` });
    sent.add(override);
  }
  return overrides.filter((one) => !sent.has(one));
}

function membersOf(overrides: readonly ArgumentOverride[]): string {
  return overrides.map(({ argument, value }) => `${JSON.stringify(argument)}:${JSON.stringify(value)}`).join(',');
}

/** Adds members at the end of the object. */
function appended({ start, members }: ObjectSpan, added: readonly string[]): Edit {
  const last = members.at(-1);
  const at = last?.end ?? start + 1;
  return { span: { start: at, end: at }, with: `${last === undefined ? '' : ','}${added.join(',')}` };
}

function spliced(message: Request, edit: Edit): Request {
  return skimMessage(spliceMessage(message, [edit])) as Request;
}
