/** The only place that creates permits. Only `policy/` may import this file; the import check enforces that. */
import type { Ruling } from './ruling.ts';

const proof = Symbol('permit');

export class Permit {
  /** Who the permit is for: the principal's key, or `system`. */
  readonly holder: string;
  /** What it is for: the policy action, or the gateway's own purpose. */
  readonly purpose: string;
  /** The generation that decided. The permit says nothing about backends of a later generation. */
  readonly generation: number;
  /** How policy decided; undefined if there is no policy. */
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
