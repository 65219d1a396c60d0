/** Where permits are made. Only this room may import this file; the import check holds that. */

const proof = Symbol('permit');

export class Permit {
  /** Who it was made for: the principal's key, or `system`. */
  readonly holder: string;
  /** What for: the policy action, or the gateway's own purpose. */
  readonly purpose: string;

  constructor(given: symbol, holder: string, purpose: string) {
    if (given !== proof) throw new TypeError('A permit is made by policy');
    this.holder = holder;
    this.purpose = purpose;
  }
}

export function mint(holder: string, purpose: string): Permit {
  return new Permit(proof, holder, purpose);
}
