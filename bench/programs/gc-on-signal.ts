/**
 * Loaded before a contestant whose memory is read: what it holds is told apart from what it has merely not thrown away
 * yet. Needs `--expose-gc`.
 */
process.on('SIGUSR2', () => globalThis.gc?.());
