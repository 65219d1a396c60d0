/**
 * Loaded before the program, to see what it holds: on SIGUSR2 it says on stderr what keeps it alive and how much memory
 * is really in use. Needs `--expose-gc`.
 */
let times = 0;

process.on('SIGUSR2', () => {
  globalThis.gc?.();
  const resources = {};
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
  // For whoever has to find out what was left open: between which ports, and how much went each way.
  const sockets = (process._getActiveHandles?.() ?? [])
    .filter(({ remotePort }) => remotePort !== undefined)
    .map((one) => `${one.localPort}-${one.remotePort} r${one.bytesRead} w${one.bytesWritten}`);
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`WATCH ${JSON.stringify({ nth: ++times, resources, sockets, bytes: heapUsed + external })}\n`);
});
