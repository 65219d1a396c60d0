/** A program that starts a child, passes on its first message, and exits without having stopped it. */
import { Child } from '../../../src/backend/stdio/child.ts';
import { realClock } from '../support/clock.ts';
import { shell } from '../support/processes.ts';

const child = await Child.start({
  command: shell(process.argv[2] ?? ''),
  limits: { lineBytes: 4096, stderrBytes: 4096, childStopMs: 1000, stdinBytes: 4096 },
  clock: realClock,
  notes: { noise: () => undefined, streamLost: () => () => undefined },
});
child.attach({
  message: ({ bytes }) => process.stdout.write(`${Buffer.from(bytes).toString('utf8')}\n`, () => process.exit()),
  oversized: () => undefined,
  exited: () => undefined,
  busy: () => false,
});
