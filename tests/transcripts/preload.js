// Loaded into the gateway before its own code: fixes what is random or timed, so that two builds can be compared byte
// by byte.
//
// - Time stands still until the player moves it. Timers are real. - Random bytes come from a counter for each length: a
// draw that one build makes and the other does not shifts only draws of the same length. -
// BASCULE_TRANSCRIPTS_ALTER=old=>new, for the self-test: replaces bytes of the same number in everything that is sent.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';

const RealDate = Date;
let now = RealDate.UTC(2026, 0, 2, 3, 4, 5);

class FixedDate extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now] : given));
  }
}
globalThis.Date = FixedDate;
Date.now = () => now;
Object.defineProperty(performance, 'timeOrigin', { value: 0 });
performance.now = () => now;

const draws = new Map();
function drawn(length) {
  const draw = (draws.get(length) ?? 0) + 1;
  draws.set(length, draw);
  return crypto.createHash('shake256', { outputLength: length }).update(`${length} ${draw}`).digest();
}

const fill = (target) => {
  const bytes = new Uint8Array(target.buffer ?? target, target.byteOffset ?? 0, target.byteLength);
  bytes.set(drawn(bytes.length));
  return target;
};

crypto.randomBytes = (length, done) => {
  const bytes = drawn(length);
  if (done === undefined) return bytes;
  setImmediate(done, null, bytes);
};
crypto.randomUUID = () =>
  drawn(16)
    .toString('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
crypto.randomFillSync = fill;
Object.defineProperty(crypto.webcrypto, 'getRandomValues', { value: fill });
Object.defineProperty(crypto.webcrypto, 'randomUUID', { value: crypto.randomUUID });
Math.random = () => 0.5;
syncBuiltinESMExports();

const alteration = process.env.BASCULE_TRANSCRIPTS_ALTER;
if (alteration !== undefined) {
  const [from, to] = alteration.split('=>');
  const { write } = Socket.prototype;
  Socket.prototype.write = function (chunk, ...rest) {
    if (typeof chunk === 'string') return write.call(this, chunk.replaceAll(from, to), ...rest);
    const text = Buffer.from(chunk).toString('latin1');
    return write.call(this, text.includes(from) ? Buffer.from(text.replaceAll(from, to), 'latin1') : chunk, ...rest);
  };
}

// The player moves the clock, and finds out whether all that came before was handled.
process.on('message', ({ advanceMs }) => {
  now += advanceMs;
  setImmediate(() => setImmediate(() => process.send?.('done')));
});
process.channel?.unref();
// A player that is killed takes the gateway along.
process.on('disconnect', () => process.exit());
