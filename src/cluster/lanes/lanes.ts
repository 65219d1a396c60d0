/** The lanes to other processes: one to each, opened with the first request and kept. */
import type { Socket } from 'node:net';
import type { Forwarded } from '../forwarded.ts';
import type { Hellos } from './hello.ts';
import { type Carriage, Lane } from './lane.ts';

/** A larger body has a lane for itself, so that others do not wait behind it. */
const LARGE_BYTES = 1024 * 1024;

export interface LanePorts {
  /** This process. */
  readonly own: string;
  readonly hellos: Hellos;
  /** A connection that is being opened. Undefined where it is not known how the process is reached. */
  dial(member: string): Socket | undefined;
  /** How many requests a lane takes, before another one takes its place. */
  readonly mostRequests?: number;
}

export class Lanes {
  readonly #ports: LanePorts;
  /** Those that take requests. */
  readonly #kept = new Map<string, Lane>();
  /** All that are open, and where each leads. */
  readonly #open = new Map<Lane, string>();

  constructor(ports: LanePorts) {
    this.#ports = ports;
  }

  carry(to: string, carriage: Carriage): Promise<Forwarded> {
    const kept = this.#kept.get(to);
    if (kept?.isOpen && !isLarge(carriage)) return kept.carry(carriage);
    return this.#carryLater(to, carriage);
  }

  /** Processes that have not answered everything. */
  get awaited(): readonly string[] {
    return [...new Set([...this.#open].filter(([{ waiting }]) => waiting > 0).map(([, member]) => member))];
  }

  /** Whether the process answers, on a connection of its own: one that is kept may lead nowhere. */
  async answers(member: string): Promise<boolean> {
    const lane = this.#dial(member);
    if (lane === undefined) return false;
    const cause = await lane.opened;
    lane.cut(new Error('only a question'));
    return cause === undefined;
  }

  /** What waits for the process ends. */
  cut(member: string): void {
    const cause = new Error('the process is gone');
    for (const [lane, to] of this.#open) if (to === member) lane.cut(cause);
  }

  close(): void {
    for (const lane of this.#open.keys()) lane.cut(new Error('this process ends'));
  }

  async #carryLater(to: string, carriage: Carriage): Promise<Forwarded> {
    const isSingle = isLarge(carriage);
    const lane = isSingle ? this.#dial(to) : this.#keptOrNew(to);
    if (lane === undefined) return { kind: 'away', cause: new Error('its address is not known') };
    if (!isSingle) return carryWhenOpen(lane, carriage);
    try {
      return await carryWhenOpen(lane, carriage);
    } finally {
      lane.cut(new Error('it was for one request'));
    }
  }

  #keptOrNew(to: string): Lane | undefined {
    const kept = this.#kept.get(to);
    if (kept !== undefined) return kept;
    const lane = this.#dial(to, () => this.#kept.get(to) === lane && this.#kept.delete(to));
    if (lane !== undefined) this.#kept.set(to, lane);
    return lane;
  }

  #dial(to: string, onFull: () => void = () => undefined): Lane | undefined {
    const { own, hellos, dial, mostRequests: most } = this.#ports;
    const socket = dial(to);
    if (socket === undefined) return undefined;
    const onClosed = () => this.#open.delete(lane);
    const lane = new Lane(socket, hellos.write(own, to), { onFull, onClosed, most });
    this.#open.set(lane, to);
    return lane;
  }
}

async function carryWhenOpen(lane: Lane, carriage: Carriage): Promise<Forwarded> {
  const cause = await lane.opened;
  if (carriage.res.gone) return { kind: 'answered' };
  if (!lane.isOpen) return { kind: 'away', cause: cause ?? new Error('the process is being stopped') };
  return lane.carry(carriage);
}

function isLarge({ body }: Carriage): boolean {
  return body !== undefined && body.byteLength > LARGE_BYTES;
}
