// Loaded into the gateway of the campaign: the wall clock jumps when the campaign says so. Monotonic time is left
// alone.
const real = Date.now;
// Of replicas, clocks may be apart by a minute.
const { CAMPAIGN_JUMP_MS = '3600000' } = process.env;
let offset = 0;
Date.now = () => real() + offset;
process.on('SIGUSR2', () => {
  offset = offset === 0 ? Number(CAMPAIGN_JUMP_MS) * (Math.random() < 0.5 ? 1 : -1) : 0;
});
