/** A picture and a sound, small enough to be part of the program. */

/** A beam on its pivot, 32 by 32 pixels. */
export const logo =
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAMAAABEpIrGAAAACVBMVEX///8oRnjSeCiwyLHGAAAAA3RSTlMA//9EUNYhAAAATklEQVR42uXO' +
  'QQoAIQwEQXv+/2gFEZYlzngUzMnQRbC150eSrwZojY1lt1XH1R/G5bEAOzCXHVhvKMT3UyX4dycSgCASAC8giAQgnrh2OnblATDu+oukAAAAAElF' +
  'TkSuQmCC';

const rate = 8000;

/** A tenth of a second of concert pitch: mono, 8 bits a sample, with the 44-byte header of a WAV file. */
export const tone = ((): string => {
  const samples = Buffer.from(
    Array.from({ length: rate / 10 }, (_, at) => 128 + 100 * Math.sin((2 * Math.PI * 440 * at) / rate)),
  );
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]).toString('base64');
})();
