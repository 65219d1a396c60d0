/**
 * One feature of the protocol, as it is asked of each pair of client and server that does not speak the same revision.
 */
import type { RequirementId } from '../../requirements/catalogue.ts';
import type { Backend, Version } from './backends.ts';
import type { Speaker } from './speakers.ts';

/** A client and a server of the other era, connected. */
export interface Crossing {
  readonly version: Version;
  readonly speaker: Speaker;
  readonly backend: Backend;
}

export interface Feature {
  readonly name: string;
  readonly verifies: readonly RequirementId[];
  /** Why there is nothing to try with this client, and the server that is across from it. */
  readonly impossible?: Partial<Record<Version, string>>;
  run(crossing: Crossing): Promise<void>;
}
