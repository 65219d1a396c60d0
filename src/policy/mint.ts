/** Where permits are made. Only this room may import this file; the import check holds that. */
import type { Ruling } from './ruling.ts';

const proof = Symbol('permit');

export class Permit {
  /** Who it was made for: the principal's key, or `system`. */
  readonly holder: string;
  /** What for: the policy action, or the gateway's own purpose. */
  readonly purpose: string;
  /** Of the config that decided; it says nothing about backends that a later config has brought. */
  readonly generation: number;
  /** How policy came to it; absent where there is no policy. */
  readonly ruling: Ruling | undefined;

  constructor(given: symbol, holder: string, purpose: string, generation: number, ruling: Ruling | undefined) {
    if (given !== proof) throw new TypeError('A permit is made by policy');
    this.holder = holder;
    this.purpose = purpose;
    this.generation = generation;
    this.ruling = ruling;
  }
}

export function mint(holder: string, purpose: string, generation: number, ruling?: Ruling): Permit {
  return new Permit(proof, holder, purpose, generation, ruling);
}
