/** Waits for a message on the bus, with a timeout because messages get lost. */
import type { CredentialPorts } from './ports.ts';

export interface Moment {
  readonly over: Promise<void>;
  stop(): void;
}

export function aMoment(
  { bus, time }: Pick<CredentialPorts, 'bus' | 'time'>,
  topic: string,
  ms: number,
  signal?: AbortSignal,
): Moment {
  let resolve: () => void;
  const over = new Promise<void>((settle) => {
    resolve = settle;
  });
  const stop = () => {
    stopListening();
    stopWaiting();
    signal?.removeEventListener('abort', stop);
    resolve();
  };
  const stopListening = bus.subscribe(topic, stop);
  const stopWaiting = time.after(Math.max(ms, 0), stop);
  signal?.addEventListener('abort', stop);
  return { over, stop };
}
