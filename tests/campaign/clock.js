// Loaded into the gateway of the campaign: the wall clock jumps when the campaign says so. Monotonic time is left
// alone.
const real = Date.now;
let offset = 0;
Date.now = () => real() + offset;
process.on('SIGUSR2', () => {
  offset = offset === 0 ? (Math.random() < 0.5 ? 3_600_000 : -3_600_000) : 0;
});
