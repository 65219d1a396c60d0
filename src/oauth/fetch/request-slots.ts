/** Limits the requests in flight, in total and by host. */
import { OutwardError } from './errors.ts';

export class RequestSlots {
  readonly #most: number;
  readonly #mostPerHost: number;
  readonly #hosts = new Map<string, number>();
  #taken = 0;

  constructor(most: number, mostPerHost: number) {
    this.#most = most;
    this.#mostPerHost = mostPerHost;
  }

  /** Takes a slot. Returns the function that releases it, to be called once. */
  enter(host: string): () => void {
    const here = this.#hosts.get(host) ?? 0;
    if (this.#taken >= this.#most || here >= this.#mostPerHost)
      throw new OutwardError('busy', 'too many requests to addresses outside are under way');
    this.#taken++;
    this.#hosts.set(host, here + 1);
    return () => {
      this.#taken--;
      const left = (this.#hosts.get(host) ?? 1) - 1;
      if (left === 0) this.#hosts.delete(host);
      else this.#hosts.set(host, left);
    };
  }
}
