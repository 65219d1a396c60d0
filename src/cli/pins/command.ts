/** `bascule pins diff`, `verify` and `approve`: compares what backends offer with the pin file. Loaded when it runs. */
import { printable } from '../../config/problems.ts';
import { changedLines } from '../../pins/changed-lines.ts';
import { approved, differencesOf, fingerprint, type OfferedThing, type PinDifference } from '../../pins/difference.ts';
import { PinFileError, readPinFile, writePinFile } from '../../pins/file.ts';
import { type Pin, type PinDigest, type PinnedThing, pinOf, shownThing } from '../../pins/pin.ts';
import type { PinSettings } from '../../pins/ports.ts';
import { readPinValue } from '../../pins/read-value.ts';
import { prettyText, Unpinnable } from '../../pins/value.ts';

export interface Offer extends PinnedThing {
  readonly bytes: Uint8Array;
}

export interface ReadOffers {
  readonly offers: readonly Offer[];
  /** Backends whose lists could not be read. */
  readonly unread: readonly { readonly backend: string; readonly why: string }[];
  readonly backends: readonly string[];
}

export interface PinsCommand extends ReadOffers {
  readonly pins: PinSettings;
  readonly digest: PinDigest;
  readonly say: (text: string) => void;
  readonly remark: (text: string) => void;
}

/** 0: all is as pinned. 1: something is not. 2: that cannot be said, because something cannot be read. */
export type PinsExit = 0 | 1 | 2;

interface Compared {
  readonly pins: readonly Pin[];
  readonly differences: readonly PinDifference[];
  readonly mark: string;
}

/** Undefined where the pin file cannot be used; that was said. `isFirst`: it need not exist. */
function compare(
  { pins: { file, content }, remark, digest, ...read }: PinsCommand,
  isFirst: boolean,
): Compared | undefined {
  for (const { backend, why } of read.unread) remark(printable(`not read: ${backend}: ${why}`));
  const pins = pinsIn(content, digest, isFirst);
  if (typeof pins === 'string') {
    remark(printable(`${file}: ${pins}`));
    return undefined;
  }
  const unread = new Set(read.unread.map(({ backend }) => backend));
  const backends = new Set(read.backends.filter((name) => !unread.has(name)));
  const offered = read.offers.map((offer) => offeredThing(offer, digest, remark));
  const differences = differencesOf(pins, offered, backends);
  return { pins, differences, mark: fingerprint(differences, digest) };
}

/** The pins, or what is wrong with the file. */
function pinsIn(content: PinSettings['content'], digest: PinDigest, isFirst: boolean): readonly Pin[] | string {
  if ('problem' in content) return isFirst && content.isMissing === true ? [] : content.problem;
  try {
    return readPinFile(content.text, digest);
  } catch (error) {
    if (!(error instanceof PinFileError)) throw error;
    return error.message;
  }
}

function offeredThing({ bytes, ...thing }: Offer, digest: PinDigest, remark: (text: string) => void): OfferedThing {
  try {
    return { ...thing, pin: pinOf(thing, readPinValue(bytes), digest) };
  } catch (error) {
    if (!(error instanceof Unpinnable)) throw error;
    remark(printable(`${shownThing(thing)} cannot be pinned: ${error.message}`));
    return { ...thing, pin: undefined };
  }
}

export interface DiffFlags {
  readonly isJson: boolean;
  /** One line for each difference. */
  readonly isShort: boolean;
}

export function showDifferences(command: PinsCommand, { isJson, isShort }: DiffFlags): PinsExit {
  const compared = compare(command, false);
  if (compared === undefined) return 2;
  const { differences, mark } = compared;
  const { say } = command;
  if (isJson)
    say(JSON.stringify({ fingerprint: mark, unread: command.unread, differences: differences.map(asJson) }, null, 2));
  else {
    for (const one of differences) {
      say(printable(`${shownThing(one)}: ${one.classes.join(', ')}`));
      if (!isShort) for (const line of linesOf(one)) say(`  ${printable(line)}`);
    }
    say(differences.length === 0 ? 'all is as pinned' : `${counted(differences.length)}, fingerprint ${mark}`);
  }
  return command.unread.length > 0 ? 2 : differences.length > 0 ? 1 : 0;
}

function counted(count: number): string {
  return `${count} difference${count === 1 ? '' : 's'}`;
}

function asJson({ backend, kind, name, classes, pinned, offered }: PinDifference): object {
  return { backend, kind, name, classes, pinned: pinned.map(({ hash }) => hash), offered: offered?.hash };
}

function linesOf({ pinned: [pin], offered }: PinDifference): readonly string[] {
  if (offered === undefined) return [];
  if (pin === undefined)
    return prettyText(offered.value)
      .split('\n')
      .map((line) => `+ ${line}`);
  return changedLines(prettyText(pin.value), prettyText(offered.value));
}

export interface ApproveFlags {
  /** `backend` or `backend/name`. None: everything. */
  readonly names: readonly string[];
  /** What `diff` has shown. */
  readonly expected: string | undefined;
  readonly keepsOld: boolean;
}

export interface Approval {
  readonly exit: PinsExit;
  /** The new pin file. Absent: it stays as it is. */
  readonly text?: string;
}

export function approve(command: PinsCommand, { names, expected, keepsOld }: ApproveFlags): Approval {
  const compared = compare(command, true);
  if (compared === undefined) return { exit: 2 };
  const { say, remark, unread } = command;
  if (expected !== undefined && expected !== compared.mark) {
    remark(
      `nothing was approved: the differences have the fingerprint ${compared.mark} now; run \`bascule pins diff\``,
    );
    return { exit: 1 };
  }
  const meant = compared.differences.filter((one) => isMeant(one, names));
  for (const name of names.filter((one) => !compared.differences.some((it) => isMeant(it, [one]))))
    remark(printable(`${name}: nothing to approve`));
  for (const one of meant) say(printable(`${shownThing(one)}: ${one.classes.join(', ')}`));
  const exit = unread.length > 0 ? 2 : meant.some(({ classes }) => classes.includes('unpinnable')) ? 1 : 0;
  try {
    const text = writePinFile(approved(compared.pins, meant, keepsOld), command.digest);
    say(`${meant.length} approved`);
    return { exit, text };
  } catch (error) {
    if (!(error instanceof PinFileError)) throw error;
    remark(`nothing was approved: ${error.message}`);
    return { exit: 1 };
  }
}

function isMeant({ backend, kind, name }: PinnedThing, names: readonly string[]): boolean {
  const own = kind === 'instructions' ? `${backend}/instructions` : `${backend}/${name}`;
  return names.length === 0 || names.includes(backend) || names.includes(own);
}
