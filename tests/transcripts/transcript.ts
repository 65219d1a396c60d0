/** What was sent and received, exchange by exchange. Bytes are kept as latin1 text, so that none is lost. */

/** `>` went towards the backends, `<` towards the clients, `!` is a remark of the player. */
export type Direction = '>' | '<' | '!';

interface Piece {
  readonly direction: Direction;
  text: string;
}

/** One message or HTTP request of a client, and everything that it brought about. */
export interface Exchange {
  readonly kind: string;
  readonly name: string;
  /** By connection: order is defined within one of them, and not among them. */
  readonly channels: Map<string, Piece[]>;
}

export class Transcript {
  readonly exchanges: Exchange[] = [];
  /** Grows with every piece: the player waits until it rests. */
  pieces = 0;

  begin(kind: string, name: string): void {
    const before = this.exchanges.filter((exchange) => exchange.name === name).length;
    this.exchanges.push({ kind, name: before === 0 ? name : `${name} (${before + 1})`, channels: new Map() });
  }

  add(channel: string, direction: Direction, bytes: string | Uint8Array): void {
    const text = typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1');
    const exchange = this.exchanges.at(-1);
    if (exchange === undefined || text === '') return;
    this.pieces += 1;
    const pieces = exchange.channels.get(channel) ?? [];
    exchange.channels.set(channel, pieces);
    const last = pieces.at(-1);
    // How bytes were cut into packets is the system's affair.
    if (last?.direction === direction) last.text += text;
    else pieces.push({ direction, text });
  }
}

/** The lines of one channel, each with its direction. */
export function linesOf(exchange: Exchange, channel: string): string[] {
  return (exchange.channels.get(channel) ?? []).flatMap(({ direction, text }) =>
    text.split('\n').map((line) => `${direction} ${line.replace(/\r$/, '␍')}`),
  );
}
