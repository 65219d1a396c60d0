/** What a call becomes under an override of its arguments. */
import { Failure } from '../../errors/failure.ts';
import { unknownThing } from '../../policy/refusals.ts';
import type { Request } from '../../wire/message.ts';
import type { Entry } from '../entries.ts';
import { withFinalArguments } from './arguments.ts';
import { overriddenEntry } from './entry.ts';
import type { EntryOverride } from './settings.ts';

export interface FinalCall {
  /** What rules judge and the backend gets. */
  readonly message: Request;
  /** The same with the client's arguments. */
  readonly asked: Request;
  /** Why the backend does not get it. Rules then judge what the client sent. */
  readonly refusal?: Failure | undefined;
}

/**
 * `asked`: under the backend's own name. `listed`: the backend's tools, of a bounded age. `called`: the client's name.
 */
export function finalCall(
  asked: Request,
  override: EntryOverride,
  listed: readonly Entry[],
  called: string,
): FinalCall {
  const entry = listed.find(({ key }) => key === override.own);
  if (entry === undefined) return { message: asked, asked, refusal: unknownThing('tool', called) };
  if ('misfit' in overriddenEntry(entry.bytes, override))
    return { message: asked, asked, refusal: new Failure('override_misfit') };
  try {
    return { message: withFinalArguments(asked, override.arguments ?? []), asked };
  } catch (error) {
    if (error instanceof Failure) return { message: asked, asked, refusal: error };
    throw error;
  }
}
