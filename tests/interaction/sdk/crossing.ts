/** Every feature with one official client across from the other SDK's server, over each pair of transports. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, inject, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { openFront } from '../harness/front.ts';
import { type Backend, launchBackend, type Version, type Way, ways } from './backends.ts';
import type { Crossing } from './feature.ts';
import { features } from './features.ts';
import { connect, type Door } from './speakers.ts';

const across = { v1: 'v2', v2: 'v1' } as const satisfies Record<Version, Version>;
const words = { v1: 'a v1 client and a v2 server', v2: 'a v2 client and a v1 server' };

export function describeCrossing(version: Version): void {
  describe.each(ways.flatMap((front) => ways.map((back) => ({ front, back }))))(
    `${words[version]}, over $front and $back`,
    ({ front, back }) => {
      let crossing: Crossing | undefined;
      const closings: (() => Promise<void> | void)[] = [];
      beforeAll(async () => {
        const backend = await launchBackend(across[version], back);
        closings.push(() => backend.close());
        const door = await openDoor(front, backend, closings);
        const speaker = await connect(version, door);
        closings.push(() => speaker.close());
        crossing = { version, speaker, backend };
      });
      afterAll(async () => {
        for (const close of closings.reverse()) await close();
      });
      beforeEach(() => {
        if (crossing === undefined) return;
        const { speaker } = crossing;
        speaker.answers = {};
        speaker.asked.length = 0;
        speaker.heard.length = 0;
      });

      for (const { name, verifies: ids, impossible, run } of features) {
        const reason = impossible?.[version];
        if (reason !== undefined) it.skip(`${name} (not here: ${reason})`, verifies(...ids));
        else
          it(name, verifies(...ids), async () => {
            if (crossing === undefined) throw new Error('nothing is connected');
            await run(crossing);
          });
      }
    },
  );
}

/** A gateway that runs, or the program that the client starts. */
async function openDoor(front: Way, backend: Backend, closings: (() => Promise<void> | void)[]): Promise<Door> {
  const config = { backends: { b: backend.config } };
  if (front === 'http') {
    const gateway = await openFront(config);
    closings.push(() => gateway.close());
    return { url: gateway.url('b') };
  }
  const executable = inject('executable');
  if (executable === undefined) throw new Error('the program was not built: see the beginning of the run');
  const cwd = mkdtempSync(join(tmpdir(), 'bascule-sdk-'));
  closings.push(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(join(cwd, 'bascule.yaml'), JSON.stringify(config));
  return { command: process.execPath, args: [executable, 'stdio'], cwd };
}
