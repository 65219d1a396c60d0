/**
 * The memory for bodies that have not come to their end, of all connections together and of each address. A body that comes
 * whole in one piece is never counted: it is read at once, and most are such.
 */
export interface BodyBudgetLimits {
  readonly bodyBytesTotal: number;
  readonly bodyBytesPerAddress: number;
}

export class BodyBudget {
  readonly #limits: BodyBudgetLimits;
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(limits: BodyBudgetLimits) {
    this.#limits = limits;
  }

  /** False where there is no room; then nothing was taken. */
  take(address: string, bytes: number): boolean {
    const own = (this.#byAddress.get(address) ?? 0) + bytes;
    const { bodyBytesTotal, bodyBytesPerAddress } = this.#limits;
    if (own > bodyBytesPerAddress || this.#total + bytes > bodyBytesTotal) return false;
    this.#byAddress.set(address, own);
    this.#total += bytes;
    return true;
  }

  give(address: string, bytes: number): void {
    const left = (this.#byAddress.get(address) ?? 0) - bytes;
    if (left > 0) this.#byAddress.set(address, left);
    else this.#byAddress.delete(address);
    this.#total -= bytes;
  }
}
