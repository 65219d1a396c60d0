/** Makes what judges by pins. Its code is loaded only where pins are configured, at start or by a reload. */
import type { Config } from '../config/config.ts';
import type { PinGuard } from '../pins/ports.ts';
import { digest } from './digest.ts';
import { type FoundChanges, tellPinChange, tellPinProblem, tellSilencedPins } from './found-pin-changes.ts';

type OpenPins = typeof import('../pins/open.ts').openPins;

export class PinLoader {
  open: OpenPins | undefined;

  /** Resolves when pins can be made for this config. Undefined where they already can be. */
  prepare({ pins }: Pick<Config, 'pins'>): Promise<void> | undefined {
    if (pins === undefined || this.open !== undefined) return undefined;
    return import('../pins/open.ts').then(({ openPins }) => {
      this.open = openPins;
    });
  }
}

export class PinMaker {
  readonly #loader: PinLoader;
  readonly #found: FoundChanges;

  constructor(loader: PinLoader, found: FoundChanges) {
    this.#loader = loader;
    this.#found = found;
  }

  make({ pins: settings, generation }: Pick<Config, 'pins' | 'generation'>): PinGuard | undefined {
    if (settings === undefined) return undefined;
    const { open } = this.#loader;
    if (open === undefined) throw new TypeError('pins are configured, and were not prepared');
    const found = this.#found;
    const pins = open(settings, {
      since: generation,
      digest,
      found: (change, mode) => tellPinChange(found, change, mode),
      silenced: (backend) => tellSilencedPins(found, backend),
    });
    tellPinProblem(found, pins);
    return pins;
  }
}
