/** Values and pins as they are made from what a backend sends. */
import { digest } from '../../src/app/digest.ts';
import { type Pin, pinOf } from '../../src/pins/pin.ts';
import { readPinValue } from '../../src/pins/read-value.ts';
import type { PinValue } from '../../src/pins/value.ts';

export const spelled = (text: string): PinValue => readPinValue(Buffer.from(text));
export const parsed = (value: unknown): PinValue => spelled(JSON.stringify(value));

export const tool = (name: string, backend = 'files') => ({ backend, kind: 'tool' as const, name });

export function pinnedTool(name: string, text: string): Pin {
  return pinOf(tool(name), spelled(text), digest);
}
