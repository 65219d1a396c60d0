/** What goes wrong in the campaign. Each fault breaks something, waits, and mends it. */
import type { ChildProcess } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Chance } from '../interaction/faults/chance.ts';
import { exchange } from './http.ts';
import type { HttpBackend, Stage } from './stage.ts';

export interface Fault {
  readonly name: string;
  /** Resolves when all is well again. */
  play(stage: Stage, chance: Chance, trouble: Trouble): Promise<void>;
  /** Why it can't be played here. */
  readonly needs?: (stage: Stage) => string | undefined;
}

/** What clients have to know of a fault. */
export interface Trouble {
  starved: boolean;
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
export const some = (chance: Chance, most: number) => 200 + chance.below(most);
const oneOf = ({ backends }: Stage, chance: Chance): HttpBackend => chance.pick(backends);
const gatewayOf = ({ gateways }: Stage, chance: Chance): ChildProcess => chance.pick(gateways).process;

export const faults: readonly Fault[] = [
  {
    name: 'a backend is killed and started again',
    play: async (stage, chance) => {
      const backend = oneOf(stage, chance);
      backend.process.kill('SIGKILL');
      await pause(some(chance, 1500));
      backend.restart();
      await pause(500);
    },
  },
  {
    name: 'a stdio process is killed',
    play: async (stage, chance) => {
      const children = stage.children();
      if (children.length > 0) signalIfThere(chance.pick(children), 'SIGKILL');
      await pause(300);
    },
  },
  {
    name: 'a backend is stopped and goes on',
    play: async (stage, chance) => {
      const { process: backend } = oneOf(stage, chance);
      backend.kill('SIGSTOP');
      await pause(some(chance, 3000));
      backend.kill('SIGCONT');
    },
  },
  {
    name: 'a stdio process is stopped and goes on',
    play: async (stage, chance) => {
      const children = stage.children();
      if (children.length === 0) return;
      const child = chance.pick(children);
      signalIfThere(child, 'SIGSTOP');
      await pause(some(chance, 2000));
      signalIfThere(child, 'SIGCONT');
    },
  },
  {
    name: 'connections to a backend are reset in the middle',
    play: async (stage, chance) => {
      const { relay } = oneOf(stage, chance);
      const until = Date.now() + some(chance, 2000);
      relay.mood = 'reset';
      while (Date.now() < until) {
        // Every point of a message: status line, headers, body, event.
        relay.resetAfter = 1 + chance.below(chance.pick([20, 200, 600]));
        await pause(50);
      }
      relay.mood = 'pass';
    },
  },
  {
    name: 'all connections to a backend are cut',
    play: async (stage, chance) => {
      oneOf(stage, chance).relay.cutAll();
      await pause(200);
    },
  },
  {
    name: 'a backend is silent on open connections',
    play: async (stage, chance) => {
      const { relay } = oneOf(stage, chance);
      relay.mood = 'half-open';
      await pause(some(chance, 3000));
      relay.mood = 'pass';
      // What was swallowed is gone: those connections are of no use.
      relay.cutAll();
    },
  },
  {
    name: 'a backend flaps',
    play: async (stage, chance) => {
      const backend = stage.backends.find(({ name }) => name === 'flapping') ?? oneOf(stage, chance);
      for (let n = 0; n < 10; n++) {
        backend.relay.mood = n % 2 === 0 ? 'refuse' : 'pass';
        if (n % 2 === 0) backend.relay.cutAll();
        await pause(150);
      }
      backend.relay.mood = 'pass';
    },
  },
  {
    name: 'a backend floods',
    play: async (stage) => {
      stage.backends.find(({ name }) => name === 'legacy')?.process.kill('SIGUSR2');
      await pause(500);
    },
  },
  {
    name: 'clients send half of a request',
    play: async (stage, chance) => {
      const sockets = Array.from({ length: 20 }, () => halfRequest(stage, chance));
      await pause(some(chance, 1500));
      for (const socket of sockets) chance.once(2) ? socket.destroy() : socket.resetAndDestroy();
    },
  },
  {
    name: 'clients open streams and vanish',
    play: async (stage, chance) => {
      const [principal] = stage.principals;
      const headers = { authorization: `Bearer ${principal?.key}`, accept: 'text/event-stream' };
      const opened = Array.from({ length: 10 }, () =>
        exchange(`${stage.origin}/sse`, {
          method: 'GET',
          headers,
          onRequest: (request) => setTimeout(() => request.destroy(), 100 + chance.below(1000)),
        }),
      );
      await Promise.all(opened);
    },
  },
  {
    name: 'clients send garbage',
    play: async (stage, chance) => {
      const [principal] = stage.principals;
      const headers = { authorization: `Bearer ${principal?.key}` };
      for (let n = 0; n < 30; n++)
        await exchange(`${stage.origin}/mcp`, { headers, body: chance.bytes(300).toString('latin1') });
    },
  },
  {
    name: 'the disk of the audit trail is full',
    needs: ({ disk }) => (disk === undefined ? 'there is no small disk: mounting one needs root' : undefined),
    play: async ({ disk = '' }, chance) => {
      const filler = join(disk, 'filler');
      try {
        writeFileSync(filler, Buffer.alloc(8 * 1024 * 1024));
      } catch {
        // It is full: that is the point.
      }
      await pause(some(chance, 2000));
      rmSync(filler, { force: true });
    },
  },
  {
    name: 'there are no descriptors left',
    needs: ({ group }) => (group === undefined ? undefined : 'the balancer has connections that were not accepted'),
    play: async (stage, chance, trouble) => {
      const { port } = new URL(stage.origin);
      trouble.starved = true;
      const sockets = Array.from({ length: 600 }, () => {
        const socket = connect(Number(port), '127.0.0.1');
        socket.on('error', () => undefined);
        return socket;
      });
      await pause(some(chance, 1000));
      for (const socket of sockets) socket.destroy();
      await pause(500);
      trouble.starved = false;
    },
  },
  {
    name: 'the log is not read',
    play: async (stage, chance) => {
      const gateway = gatewayOf(stage, chance);
      gateway.stderr?.pause();
      await pause(some(chance, 3000));
      gateway.stderr?.resume();
    },
  },
  {
    name: 'the config changes',
    play: async (stage, chance) => {
      stage.reload(true);
      await pause(some(chance, 1500));
      stage.reload(false);
      await pause(300);
    },
  },
  {
    name: 'the clock jumps',
    play: async (stage, chance) => {
      const gateway = gatewayOf(stage, chance);
      gateway.kill('SIGUSR2');
      await pause(some(chance, 1500));
      gateway.kill('SIGUSR2');
    },
  },
];

function halfRequest({ origin, principals }: Stage, chance: Chance): Socket {
  const { port } = new URL(origin);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => undefined);
  const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${principals[0]?.key}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n`;
  const text = `${head}{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`;
  socket.write(text.slice(0, 1 + chance.below(text.length)));
  return socket;
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It was ended meanwhile.
  }
}
