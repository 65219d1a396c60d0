/** The part of the program that is loaded only where pins are configured: `app/load-pins.ts`. */
import { PinBook, type PinBookOptions } from './book.ts';
import type { PinGuard, PinSettings } from './ports.ts';

export function openPins(settings: PinSettings, options: PinBookOptions): PinGuard {
  return new PinBook(settings, options);
}
