import type { Failure } from '../../../src/errors/failure.ts';
import type {
  ChannelNotes,
  ChannelSink,
  HttpFacts,
  RequestSink,
  StandaloneListener,
} from '../../../src/upstream/channel.ts';
import type { Reception } from '../../../src/upstream/reception.ts';
import type { Message, Notification, Request, Response } from '../../../src/wire/message.ts';

export function text(message: Message): string {
  return Buffer.from(message.bytes).toString('utf8');
}

/** Lets a test await what its recorder will have seen. */
class Watched {
  #watchers: (() => void)[] = [];

  protected changed(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const watcher of watchers) watcher();
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }
}

export class RequestRecorder extends Watched implements RequestSink {
  readonly messages: string[] = [];
  readonly pauses: (number | undefined)[] = [];
  readonly endings: string[] = [];
  response: Response | undefined;
  failure: Failure | undefined;
  http: HttpFacts | undefined;

  message(message: Notification | Request): Reception {
    this.messages.push(message.method);
    this.changed();
    return 'session';
  }

  answered(message: Response, http: HttpFacts | undefined): void {
    this.endings.push('answered');
    this.response = message;
    this.http = http;
    this.changed();
  }

  failed(failure: Failure, http: HttpFacts | undefined): void {
    this.endings.push(`failed ${failure.reason}`);
    this.failure = failure;
    this.http = http;
    this.changed();
  }

  alive(): void {
    this.changed();
  }

  paused(retryMs: number | undefined): void {
    this.pauses.push(retryMs);
    this.changed();
  }

  async settled(): Promise<string | undefined> {
    await this.until(() => this.endings.length > 0);
    return this.endings[0];
  }
}

export class ChannelRecorder extends Watched implements ChannelSink {
  readonly strays: string[] = [];
  readonly losses: Failure[] = [];

  stray(message: Notification | Request): Reception {
    this.strays.push(message.method);
    this.changed();
    return 'session';
  }

  lost(failure: Failure): void {
    this.losses.push(failure);
    this.changed();
  }
}

export class StandaloneRecorder extends Watched implements StandaloneListener {
  readonly told: string[] = [];

  opened(): void {
    this.#tell('opened');
  }

  missed(): void {
    this.#tell('missed');
  }

  away(): void {
    return;
  }

  lost({ reason }: Failure): void {
    this.#tell(`lost ${reason}`);
  }

  none(): void {
    this.#tell('none');
  }

  doubted(): void {
    this.#tell('doubted');
  }

  #tell(what: string): void {
    this.told.push(what);
    this.changed();
  }
}

export class NotesRecorder extends Watched implements ChannelNotes {
  readonly notes: { readonly kind: string; readonly text: string }[] = [];

  noise(kind: 'stdout' | 'unknown_id' | 'unreadable' | 'stderr', noise: string): void {
    this.notes.push({ kind, text: noise });
    this.changed();
  }

  flood(stage: 'paused' | 'ended', where: string): void {
    this.notes.push({ kind: `flood ${stage}`, text: where });
    this.changed();
  }

  overLimit({ message }: Failure): void {
    this.notes.push({ kind: 'over_limit', text: message });
    this.changed();
  }

  streamLost(why: string): (how: 'back' | 'closed') => void {
    this.notes.push({ kind: 'stream_lost', text: why });
    this.changed();
    return (how) => {
      this.notes.push({ kind: 'stream_lost', text: how });
      this.changed();
    };
  }

  of(kind: string): string[] {
    return this.notes.filter((note) => note.kind === kind).map((note) => note.text);
  }
}
