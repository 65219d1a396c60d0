/** A program that starts a child, passes on its first message, and exits without having stopped it. */
import { Child } from '../../../src/upstream/stdio/child.ts';
import { realClock } from '../support/clock.ts';
import { anyFlood, shell } from '../support/processes.ts';

const child = await Child.start({
  command: shell(process.argv[2] ?? ''),
  limits: { lineBytes: 4096, stderrBytes: 4096, childStopMs: 1000, stdinBytes: 4096 },
  flood: anyFlood(),
  clock: realClock,
  notes: {
    noise: () => undefined,
    flood: () => undefined,
    overLimit: () => undefined,
    streamLost: () => () => undefined,
  },
});
child.attach({
  message: ({ bytes }) => {
    process.stdout.write(`${Buffer.from(bytes).toString('utf8')}\n`, () => process.exit());
    return 'session';
  },
  oversized: () => undefined,
  unreadable: () => 'none',
  exited: () => undefined,
  busy: () => false,
});
