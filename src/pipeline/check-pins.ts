/** A part of the authorize stage: whether pins hold what a request names, in the list that its sender is shown. */

import type { Reader } from '../catalog/list-reader.ts';
import type { Lists } from '../catalog/lists.ts';
import { shownThing } from '../pins/pin.ts';
import type { PinChange, PinGuard } from '../pins/ports.ts';
import type { Thing } from '../policy/question.ts';
import { Denied } from '../policy/refusals.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';

/** Where each kind of pinned thing is listed. Resources are not pinned. */
const listsOf: Readonly<Partial<Record<Thing['kind'], MethodRow>>> = {
  tool: methodRow('tools/list') as MethodRow,
  prompt: methodRow('prompts/list') as MethodRow,
  template: methodRow('resources/templates/list') as MethodRow,
};

export interface PinCheck {
  readonly pins: PinGuard;
  readonly lists: Lists;
  readonly reader: Reader;
  readonly backend: string;
}

/** `own`: the backend's own name. Rejects with a Failure where the backend's list cannot be read. */
export async function heldByPins(
  { pins, lists, reader, backend }: PinCheck,
  { kind }: Thing,
  own: string,
): Promise<Denied | undefined> {
  const row = listsOf[kind];
  if (row === undefined || (kind !== 'tool' && kind !== 'prompt' && kind !== 'template')) return undefined;
  const change = pins.holding({ backend, kind, name: own }, await lists.parts.judgedBy(backend, row, reader));
  return change && heldFailure(pins, change);
}

function heldFailure({ problem }: PinGuard, change: PinChange): Denied {
  const { classes, kind } = change;
  const thing = shownThing(change);
  const cure = 'An operator can look at it with `bascule pins diff`, and accept it with `bascule pins approve`.';
  const why =
    problem === undefined
      ? `${thing} is held, because it is not as it was pinned (${classes.join(', ')}). ${cure}`
      : `${thing} is held, because the pin file of the gateway cannot be used. An operator can look at its log.`;
  return new Denied('pinned_changed', { message: `${why[0]?.toUpperCase()}${why.slice(1)}`, data: { kind, classes } });
}
