/**
 * Collects chunks and returns them as one. A single chunk is returned without a copy. Small chunks are packed together,
 * so that a peer that sends byte by byte cannot make every byte cost an object.
 */

/** Chunks below this size are packed. Also half of the size of a pack. */
const SMALL = 4096;

export class ChunkBuffer {
  size = 0;
  private readonly parts: Uint8Array[] = [];
  /** The current pack, if there is one with space left, and how many of its bytes are used. */
  private pack: Buffer | undefined = undefined;
  private used = 0;

  add(part: Uint8Array): void {
    if (part.byteLength === 0) return;
    const isFirst = this.size === 0;
    this.size += part.byteLength;
    if (isFirst || part.byteLength >= SMALL) {
      this.closePack();
      this.parts.push(part);
      return;
    }
    if (this.pack !== undefined && this.used + part.byteLength > this.pack.byteLength) this.closePack();
    this.pack ??= Buffer.allocUnsafeSlow(2 * SMALL);
    this.pack.set(part, this.used);
    this.used += part.byteLength;
  }

  /** Returns everything and empties the buffer. */
  take(): Uint8Array {
    this.closePack();
    const { parts } = this;
    const whole = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts, this.size);
    this.clear();
    return whole;
  }

  clear(): void {
    this.parts.length = 0;
    this.pack = undefined;
    this.used = 0;
    this.size = 0;
  }

  private closePack(): void {
    if (this.pack === undefined) return;
    this.parts.push(this.pack.subarray(0, this.used));
    this.pack = undefined;
    this.used = 0;
  }
}
