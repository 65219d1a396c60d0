/**
 * Questions to a modern client: the request ends with what is needed, and comes back as a new one with the answers.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { type Answers, type Ask, type AskRequest, missingCapabilities } from './asks.ts';
import { BadValue, codes, Failure, isObject, type JsonObject, objectOf } from './message.ts';

/** Thrown through the handler, which runs again from its start in the next round. */
export class InputRequired extends Error {
  readonly result: JsonObject;

  /**
   * The state is the answers of earlier rounds and nothing else, so it is not sealed: a client that alters it only
   * gives other answers, which it could have given in the first place, and they are read with the same distrust.
   */
  constructor(inputRequests: JsonObject, answered: JsonObject) {
    super('Input required');
    const requestState = Buffer.from(JSON.stringify(answered)).toString('base64url');
    this.result = { resultType: 'input_required', inputRequests, requestState };
  }
}

function stateIn({ requestState }: JsonObject): JsonObject {
  if (requestState === undefined) return {};
  try {
    const answered: unknown = JSON.parse(Buffer.from(String(requestState), 'base64url').toString());
    if (isObject(answered)) return answered;
  } catch {
    // Falls through to the refusal: there is one for every way of being no state of ours.
  }
  throw new BadValue('"requestState" is not one that this server gave');
}

export function askInRounds(params: JsonObject, capabilities: JsonObject): Ask {
  const given = new Map(Object.entries({ ...stateIn(params), ...objectOf(params, 'inputResponses', {}) }));
  /** What this run of the handler has used. Answers to questions that were not asked go no further. */
  const answered: Record<string, JsonObject> = {};

  return async <Key extends string>(requests: { readonly [key in Key]: AskRequest }) => {
    const open: Record<string, AskRequest> = {};
    for (const [key, request] of Object.entries<AskRequest>(requests)) {
      const answer = given.get(key);
      if (answer === undefined) open[key] = request;
      else if (isObject(answer)) answered[key] = answer;
      else throw new Failure(codes.invalidParams, `The answer to "${key}" must be an object`);
    }
    const requiredCapabilities = missingCapabilities(capabilities, Object.values(open));
    if (requiredCapabilities !== undefined) {
      const data = { requiredCapabilities };
      throw new Failure(codes.missingClientCapability, 'Missing required client capability', data);
    }
    if (Object.keys(open).length > 0) throw new InputRequired(open, answered);
    return answered as Answers<Key>;
  };
}
