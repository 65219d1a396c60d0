/**
 * The memory for incomplete bodies, of all connections together and per address. A body that arrives in one chunk, as
 * most do, is never counted: it is processed at once.
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

  /** False when over the limit; then nothing is counted. */
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
