/** All decision points of one config. They are asked in the order of the file, and the first denial ends it. */
import type { RecordedDecision } from '../observe/audit.ts';
import type { AuthorizationRequest } from '../policy/authorization-request.ts';
import type { Viewer } from '../policy/authorizer.ts';
import type { DecisionPoints, OutsideDenial, OutsideRuling, OutsideShown } from '../policy/outside.ts';
import type { Thing } from '../policy/question.ts';
import type { DecisionFault } from './fault.ts';
import type { AskedPoint, DecisionPoint } from './point.ts';

/** Entries in one question about a list. Longer lists are asked about in parts, one after the other. */
const ENTRIES = 1_000;

/** Told of every fault, for the log. */
export type OnFault = (point: string, fault: DecisionFault) => void;

export class ConfiguredPoints implements DecisionPoints {
  readonly #points: readonly DecisionPoint[];
  readonly #isAudit: boolean;
  readonly #onFault: OnFault;
  readonly #close: () => Promise<void>;

  /** `isAudit`: the whole policy is in audit mode. */
  constructor(points: readonly DecisionPoint[], isAudit: boolean, onFault: OnFault, close: () => Promise<void>) {
    this.#points = points;
    this.#isAudit = isAudit;
    this.#onFault = onFault;
    this.#close = close;
  }

  close(): Promise<void> {
    return this.#close();
  }

  concerns(action: string): boolean {
    return this.#points.some((point) => isAbout(point, action));
  }

  async decide(request: AuthorizationRequest): Promise<OutsideRuling> {
    const { principal, row } = request;
    const decisions: RecordedDecision[] = [];
    const wouldDeny: string[] = [];
    for (const point of this.#points) {
      if (!isAbout(point, row.action)) continue;
      const asked = await point.ask(principal.key, (protocol, signal) => protocol.decide(request, signal));
      decisions.push(this.#recorded(point, asked));
      const denial = denialOf(point, asked);
      if (denial === undefined) continue;
      if (!this.#isAudit && point.settings.mode === 'enforce') return { denial, wouldDeny, decisions };
      wouldDeny.push(point.settings.name);
    }
    return { wouldDeny, decisions };
  }

  /** In audit mode lists are whole. A template stands for many resources, and each of them is asked about when read. */
  filters(kind: Thing['kind']): boolean {
    return !this.#isAudit && kind !== 'template' && this.#points.some(isFiltering);
  }

  async show(viewer: Viewer, backend: string, kind: Thing['kind'], names: readonly string[]): Promise<OutsideShown> {
    const decisions: RecordedDecision[] = [];
    let left = names;
    for (const point of this.#points.filter(isFiltering)) {
      const shown: string[] = [];
      for (let at = 0; at < left.length; at += ENTRIES) {
        const part = left.slice(at, at + ENTRIES);
        const question = { ...viewer, backend, kind, names: part };
        const asked = await point.ask(viewer.principal.key, async (protocol, signal) => {
          if (protocol.show === undefined) throw new TypeError('the protocol has no question about lists');
          return protocol.show(question, signal);
        });
        decisions.push(this.#recorded(point, asked));
        const denial = faultDenial(point, asked);
        if (denial !== undefined) return { shown: undefined, denial, wouldDeny: [], decisions };
        shown.push(...('fault' in asked ? part : part.filter((_name, index) => asked.decision[index] === true)));
      }
      left = shown;
    }
    const kept = new Set(left);
    return { shown: names.map((name) => kept.has(name)), wouldDeny: [], decisions };
  }

  #recorded({ settings }: DecisionPoint, asked: AskedPoint<unknown>): RecordedDecision {
    const { ms } = asked;
    if ('fault' in asked) {
      this.#onFault(settings.name, asked.fault);
      return { point: settings.name, ms, fault: asked.fault.kind };
    }
    const { decision, id } = asked;
    return { point: settings.name, effect: typeof decision === 'string' ? decision : 'filter', id: bounded(id), ms };
  }
}

function isAbout({ settings }: DecisionPoint, action: string): boolean {
  return (settings.what as readonly string[]).includes(action);
}

function isFiltering({ settings, filtersLists }: DecisionPoint): boolean {
  return filtersLists && settings.mode === 'enforce';
}

/** Anything but `allow` denies. */
function denialOf(point: DecisionPoint, asked: AskedPoint<string>): OutsideDenial | undefined {
  if ('fault' in asked) return faultDenial(point, asked);
  return asked.decision === 'allow' ? undefined : { point: point.settings.name };
}

function faultDenial({ settings }: DecisionPoint, asked: AskedPoint<unknown>): OutsideDenial | undefined {
  if (!('fault' in asked)) return undefined;
  const isDenied = settings.onFailure === 'deny' || asked.fault.isOfClient;
  return isDenied ? { point: settings.name, fault: asked.fault.kind } : undefined;
}

/** The decision point chooses its id: a record has to stay small. */
function bounded(id: string | undefined): string | undefined {
  return id?.slice(0, 128);
}
