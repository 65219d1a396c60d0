/** Where other processes of the gateway open lanes to this one. */
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, ListenOptions, Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Enter, OpenDoor } from '../../downstream/forwarding.ts';
import { CarriedConnection, carriedExchange } from './carried-answer.ts';
import { type CarriedHead, readHead } from './carried-head.ts';
import { FrameReader, FrameWriter, frames, MOST_BYTES } from './frames.ts';
import type { Hellos } from './hello.ts';
import { MOST_STRANGERS, Strangers } from './strangers.ts';

const HELLO_MS = 5_000;
/** A hello has some 300. */
const HELLO_BYTES = 4_096;
/** How long the others may take to close their lanes. */
const BYE_MS = 1_000;

/** More than there are other processes: each opens one, and one for each large body. */
const MOST_LANES = 1_024;

export interface DoorPorts {
  /** This process. */
  readonly own: string;
  readonly hellos: Hellos;
  readonly enter: Enter;
  /** An unexpected error of the server. */
  readonly fault: (error: Error) => void;
}

/** `server`: of plain or encrypted connections. Rejects where the address is not to be had. */
export async function openLaneDoor(server: Server, at: ListenOptions, ports: DoorPorts): Promise<LaneDoor> {
  const door = new LaneDoor(server, ports);
  server.maxConnections = MOST_LANES + MOST_STRANGERS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // `exclusive`: not shared with the other workers.
    server.listen({ ...at, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', ports.fault);
  return door;
}

class LaneDoor implements OpenDoor {
  readonly #server: Server;
  readonly #lanes = new Set<OpenLane>();
  readonly #strangers = new Strangers();
  #onEmpty: (() => void) | undefined;

  constructor(server: Server, ports: DoorPorts) {
    this.#server = server;
    server.on('connection', (socket: Socket) => this.#strangers.add(socket));
    server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
      const lane = new OpenLane(socket, ports, () => this.#strangers.delete(socket));
      this.#lanes.add(lane);
      socket.on('close', () => {
        this.#lanes.delete(lane);
        this.#strangers.delete(socket);
        if (this.#lanes.size === 0) this.#onEmpty?.();
      });
    });
  }

  /** How many are open. */
  get lanes(): number {
    return this.#lanes.size;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes no more requests, ends those that are open, and waits for the others to close their lanes. */
  async close(): Promise<void> {
    this.#server.close();
    for (const lane of this.#lanes) lane.leave();
    if (this.#lanes.size > 0)
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
        setTimeout(resolve, BYE_MS).unref();
      });
    for (const lane of this.#lanes) lane.destroy();
  }
}

interface OpenRequest {
  readonly req: IncomingMessage;
  readonly connection: CarriedConnection;
  /** Of the body, still to come. */
  left: number;
}

class OpenLane {
  readonly #socket: Socket;
  readonly #ports: DoorPorts;
  readonly #writer: FrameWriter;
  readonly #open = new Map<number, OpenRequest>();
  readonly #reader = new FrameReader((kind, stream, payload) => this.#take(kind, stream, payload), HELLO_BYTES);
  readonly #onKnown: () => void;
  #from: string | undefined = undefined;
  #isLeaving = false;

  /** `onKnown`: the other process has said who it is. */
  constructor(socket: Socket, ports: DoorPorts, onKnown: () => void) {
    this.#socket = socket;
    this.#ports = ports;
    this.#onKnown = onKnown;
    this.#writer = new FrameWriter(socket);
    const late = setTimeout(() => this.#from === undefined && socket.destroy(), HELLO_MS);
    socket.on('data', (chunk: Buffer) => this.#read(chunk) || socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(late);
      for (const { connection } of this.#open.values()) connection.destroy();
    });
    socket.setNoDelay(true);
  }

  leave(): void {
    this.#isLeaving = true;
    this.#writer.write(frames.bye, 0);
    for (const { connection } of this.#open.values()) connection.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): boolean {
    try {
      return this.#reader.read(chunk);
    } catch {
      // No process of ours writes what cannot be read.
      return false;
    }
  }

  #take(kind: number, stream: number, payload: Buffer): void {
    if (this.#from === undefined) {
      if (this.#socket.destroyed) return;
      this.#from =
        kind === frames.hello ? this.#ports.hellos.open(payload.toString('latin1'), this.#ports.own) : undefined;
      if (this.#from === undefined) this.#socket.destroy();
      else this.#welcome();
    } else if (kind === frames.request) this.#begin(stream, readHead(payload), this.#from);
    else {
      const open = this.#open.get(stream);
      if (open === undefined) return;
      if (kind === frames.body) receive(open, payload);
      else if (kind === frames.credit) open.connection.credit(payload.readUInt32BE(0));
      else if (kind === frames.reset) open.connection.destroy();
    }
  }

  #welcome(): void {
    this.#onKnown();
    this.#reader.most = MOST_BYTES;
    this.#writer.write(frames.welcome, 0);
  }

  /** Throws where no process of ours would send it. */
  #begin(stream: number, head: CarriedHead, from: string): void {
    if (this.#open.has(stream)) throw new Error('this number is in use');
    if (this.#isLeaving) {
      this.#writer.write(frames.away, stream);
      return;
    }
    const { principal, address, takesOver, size } = head;
    const connection = new CarriedConnection(address, this.#writer, stream, () => this.#open.delete(stream));
    const { req, res } = carriedExchange(head, connection);
    const open: OpenRequest = { req, connection, left: size };
    this.#open.set(stream, open);
    this.#ports.enter(req, res, { from, principal, takesOver });
    if (size === 0) receive(open, nothing);
  }
}

const nothing = Buffer.alloc(0);

/** Throws where it is more than the head has said. */
function receive(open: OpenRequest, bytes: Buffer): void {
  const { req } = open;
  if (bytes.length > open.left) throw new Error('this is more than the body');
  open.left -= bytes.length;
  if (bytes.length > 0) req.push(bytes);
  if (open.left > 0) return;
  req.complete = true;
  req.push(null);
}
