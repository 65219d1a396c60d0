/** A client, a gateway and a backend, each of any revision, over any transport. */
import { era, type Revision, revisions } from '../../../src/wire/revisions.ts';
import type { ScriptedOptions } from '../harness/http-backend.ts';
import { type Actor, actors, type Deeds } from './actors.ts';
import { lines } from './lines.ts';
import { type Speaker, speakers } from './speakers.ts';
import { type Transport, wires } from './wires.ts';

export interface Side {
  readonly revision: Revision;
  readonly transport: Transport;
}

export interface Play {
  readonly client: Side;
  readonly backend: Side;
  /** What the client declares. */
  readonly capabilities?: object;
  /** What the backend does. */
  readonly deeds: Deeds;
  /** What it says of itself. */
  readonly about?: ScriptedOptions;
}

export interface Stage {
  readonly client: Speaker;
  readonly backend: Actor;
}

/** Everything is ended when the test is over. */
export async function setStage({ client, backend, capabilities = {}, deeds, about = {} }: Play): Promise<Stage> {
  const actor = actors[era(backend.revision)](deeds, () => wire);
  const wire = await wires[backend.transport](backend.revision, actor.hears, about);
  const line = await lines[client.transport]({
    backends: { b: wire.config },
    // 2025-03-26 is negotiated only where it is named.
    endpoints: [{ path: '/mcp', profile: { revisions: [...revisions], batches: 'allow' } }],
  });
  const speaker = await speakers[era(client.revision)](line, { revision: client.revision, capabilities });
  return { client: speaker, backend: actor };
}
