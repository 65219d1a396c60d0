/** All decision points of one config. They are asked in the order of the file, and the first denial ends it. */
import type { RecordedDecision } from '../observe/audit.ts';
import { useOf } from '../policy/actions.ts';
import { type ApprovalDemand, approvable, combinedDemand } from '../policy/approval.ts';
import type { AuthorizationRequest } from '../policy/authorization-request.ts';
import type {
  DecisionEffect,
  DecisionPoints,
  ListedName,
  OutsideDenial,
  OutsideRuling,
  OutsideShown,
} from '../policy/outside.ts';
import type { Thing } from '../policy/question.ts';
import type { Viewer } from '../policy/visibility.ts';
import { DecisionFault } from './fault.ts';
import type { AskedPoint, DecisionPoint } from './point.ts';
import type { ListQuestion } from './protocol.ts';

/** Entries in one question about a list. Longer lists are asked about in parts. */
const ENTRIES = 1_000;
/** More than any client reads. A longer list fails: each part is a question, and a line in the audit record. */
const MOST_ENTRIES = 10_000;

/** Told of every fault, for the log. */
export type OnFault = (point: string, fault: DecisionFault) => void;

export class ConfiguredPoints implements DecisionPoints {
  readonly #points: readonly DecisionPoint[];
  readonly #isAudit: boolean;
  readonly #onFault: OnFault;
  readonly #close: () => Promise<void>;
  readonly #underWay = new Set<Promise<unknown>>();

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

  async retire(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    await this.#close();
  }

  concerns(action: string): boolean {
    return this.#points.some((point) => isAbout(point, action));
  }

  decide(request: AuthorizationRequest): Promise<OutsideRuling> {
    return this.#watched(this.#decide(request));
  }

  show(viewer: Viewer, kind: Thing['kind'], entries: readonly ListedName[]): Promise<OutsideShown> {
    return this.#watched(this.#show(viewer, kind, entries));
  }

  #watched<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    const done = () => void this.#underWay.delete(work);
    work.then(done, done);
    return work;
  }

  async #decide(request: AuthorizationRequest): Promise<OutsideRuling> {
    const { row } = request;
    const decisions: RecordedDecision[] = [];
    const wouldDeny: string[] = [];
    const wouldAsk: string[] = [];
    const demands: ApprovalDemand[] = [];
    for (const point of this.#points) {
      if (!isAbout(point, row.action)) continue;
      const asked = await this.#askByEveryName(point, request, decisions);
      const isEnforced = !this.#isAudit && point.settings.mode === 'enforce';
      const demand = approvable.includes(row.action) ? demandOf(point, asked) : undefined;
      if (demand !== undefined && isEnforced) demands.push(demand);
      else if (demand !== undefined) wouldAsk.push(point.settings.name);
      const denial = demand === undefined ? denialOf(point, asked) : undefined;
      if (denial === undefined) continue;
      if (isEnforced) return { denial, wouldDeny, wouldAsk, decisions };
      wouldDeny.push(point.settings.name);
    }
    return { demand: combinedDemand(demands), wouldDeny, wouldAsk, decisions };
  }

  /** A target may be listed by a second name: it must be allowed under both. The answer is the stricter one. */
  async #askByEveryName(
    point: DecisionPoint,
    request: AuthorizationRequest,
    decisions: RecordedDecision[],
  ): Promise<AskedPoint<DecisionEffect>> {
    const ask = async (named: AuthorizationRequest) => {
      const asked = await point.ask(holderOf(request), (protocol, signal) => protocol.decide(named, signal));
      decisions.push(this.#recorded(point, asked));
      return asked;
    };
    const first = await ask(request);
    const { thing } = request;
    if (thing?.also === undefined || strictness(point, first) === DENIED) return first;
    const second = await ask({ ...request, thing: { ...thing, name: thing.also } });
    return strictness(point, second) > strictness(point, first) ? second : first;
  }

  /** In audit mode lists are whole. A template stands for many resources, and each of them is asked about when read. */
  filters(kind: Thing['kind']): boolean {
    return !this.#isAudit && kind !== 'template' && this.#points.some((point) => isFiltering(point, kind));
  }

  async #show(viewer: Viewer, kind: Thing['kind'], entries: readonly ListedName[]): Promise<OutsideShown> {
    const decisions: RecordedDecision[] = [];
    let left = entries;
    for (const point of this.#points.filter((one) => isFiltering(one, kind))) {
      if (left.length > MOST_ENTRIES) {
        const asked = { fault: new DecisionFault('question_too_large'), ms: 0 };
        decisions.push(this.#recorded(point, asked));
        return { shown: undefined, denial: faultDenial(point, asked), decisions };
      }
      const answers = await Promise.all(
        partsOf(left).map((part) => askAboutList(point, { ...viewer, kind, entries: part })),
      );
      decisions.push(...answers.map(({ asked }) => this.#recorded(point, asked)));
      const denial = answers.map(({ asked }) => faultDenial(point, asked)).find((one) => one !== undefined);
      if (denial !== undefined) return { shown: undefined, denial, decisions };
      left = answers.flatMap(({ shown }) => shown);
    }
    const kept = new Set(left);
    return { shown: entries.map((entry) => kept.has(entry)), decisions };
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

/** Another credential for a backend is no other person. */
function holderOf({ principal }: Pick<Viewer, 'principal'>): string {
  return (principal.holder ?? principal).key;
}

function isAbout({ settings }: DecisionPoint, action: string): boolean {
  return (settings.what as readonly string[]).includes(action);
}

/** A point that is not asked about the use of an entry does not hide it either. */
function isFiltering(point: DecisionPoint, kind: Thing['kind']): boolean {
  return point.filtersLists && point.settings.mode === 'enforce' && isAbout(point, useOf[kind]);
}

function partsOf(entries: readonly ListedName[]): readonly (readonly ListedName[])[] {
  const count = Math.ceil(entries.length / ENTRIES);
  return Array.from({ length: count }, (_, at) => entries.slice(at * ENTRIES, (at + 1) * ENTRIES));
}

interface AnsweredPart {
  readonly asked: AskedPoint<readonly boolean[]>;
  /** All of them where there is no answer. */
  readonly shown: readonly ListedName[];
}

async function askAboutList(point: DecisionPoint, question: ListQuestion): Promise<AnsweredPart> {
  const { entries } = question;
  const asked = await point.ask(holderOf(question), async (protocol, signal) => {
    if (protocol.show === undefined) throw new TypeError('the protocol has no question about lists');
    return protocol.show(question, signal);
  });
  return { asked, shown: 'fault' in asked ? entries : entries.filter((_entry, at) => asked.decision[at] === true) };
}

/** A person can be asked only where the config says which. */
function demandOf({ settings }: DecisionPoint, asked: AskedPoint<string>): ApprovalDemand | undefined {
  const { name, approval } = settings;
  if ('fault' in asked || asked.decision !== 'approval' || approval === undefined) return undefined;
  return { ...approval, rules: [name], text: JSON.stringify([name, approval]) };
}

const DENIED = 2;

/** A fault counts as what follows from it. */
function strictness(point: DecisionPoint, asked: AskedPoint<DecisionEffect>): number {
  if ('fault' in asked) return faultDenial(point, asked) === undefined ? 0 : DENIED;
  return asked.decision === 'allow' ? 0 : asked.decision === 'approval' ? 1 : DENIED;
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
