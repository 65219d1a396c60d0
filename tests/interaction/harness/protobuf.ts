/** Reads protobuf without a schema: the fields of a message by their numbers, in the order of the bytes. */

/** https://protobuf.dev/programming-guides/encoding/ */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

export class ProtoFields {
  readonly #fields = new Map<number, (bigint | Buffer)[]>();

  constructor(bytes: Buffer) {
    let at = 0;
    const varint = (): bigint => {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const byte = bytes[at++];
        if (byte === undefined) throw new Error('the message is cut');
        value |= BigInt(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
      }
    };
    const take = (length: number): Buffer => {
      at += length;
      return bytes.subarray(at - length, at);
    };
    const read = (wireType: number): bigint | Buffer => {
      if (wireType === VARINT) return varint();
      if (wireType === FIXED64) return take(8).readBigUInt64LE();
      if (wireType === FIXED32) return BigInt(take(4).readUInt32LE());
      if (wireType !== BYTES) throw new Error(`unknown wire type ${wireType}`);
      return take(Number(varint()));
    };
    while (at < bytes.length) {
      const key = Number(varint());
      const number = key >> 3;
      this.#fields.set(number, [...(this.#fields.get(number) ?? []), read(key & 7)]);
    }
  }

  number(field: number): number {
    return Number(this.#fields.get(field)?.at(-1) ?? 0);
  }

  has(field: number): boolean {
    return this.#fields.has(field);
  }

  text(field: number): string {
    return this.#last(field).toString();
  }

  hex(field: number): string {
    return this.#last(field).toString('hex');
  }

  messages(field: number): readonly ProtoFields[] {
    return (this.#fields.get(field) ?? []).map((bytes) => new ProtoFields(bytes as Buffer));
  }

  #last(field: number): Buffer {
    return (this.#fields.get(field)?.at(-1) as Buffer | undefined) ?? Buffer.alloc(0);
  }
}
