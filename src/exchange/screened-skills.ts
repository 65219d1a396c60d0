/** A list of skills as any client may see it. One invalid skill would cost some clients the whole list. */
import { concat, spliceMessage } from '../wire/compose.ts';
import type { ResultResponse, Span } from '../wire/message.ts';
import { skillFault } from '../wire/skill.ts';
import { elementsAt, skimMessage } from '../wire/skim.ts';
import { isObject, member, slice, valueAt } from '../wire/values.ts';

/** Leaves out invalid skills, and every later one with the same URI. `skipped` gets the reason for each. */
export function withoutInvalidSkills(
  message: ResultResponse,
  skipped: (why: string, skill: string | undefined) => void,
): ResultResponse {
  const { bytes, result } = message;
  const span = member(result, 'skills');
  const elements = span && elementsAt(bytes, span);
  if (span === undefined || elements === undefined) return message;
  const seen = new Set<string>();
  const isKept = (element: Span): boolean => {
    const skill = valueAt(bytes, element);
    const uri = isObject(skill) && typeof skill.uri === 'string' ? skill.uri : undefined;
    const fault = skillFault(skill) ?? (seen.has(uri ?? '') ? 'its uri is listed twice' : undefined);
    if (uri !== undefined) seen.add(uri);
    if (fault !== undefined) skipped(fault, uri);
    return fault === undefined;
  };
  const kept = elements.filter(isKept);
  if (kept.length === elements.length) return message;
  const joined = kept.flatMap((element) => [',', slice(bytes, element)]).slice(1);
  return skimMessage(spliceMessage(message, [{ span, with: concat(['[', ...joined, ']']) }])) as ResultResponse;
}
