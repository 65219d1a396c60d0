/** Questions about calls that wait for a person, and the answers. */
import type { ApprovalQuestion } from '../approvals/ports.ts';
import { type Principal, shownPrincipal } from '../identity/principal.ts';
import { StoreError } from '../store/errors.ts';
import { isObject } from '../wire/values.ts';
import { visible } from '../wire/visible.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';

/** The questions that this person may answer, or at least see: the oldest first. */
export async function approvals(ports: ConsolePorts, operator: Operator): Promise<object> {
  const open = await stored((await ports.approvals.open()).open());
  const seen = open.filter((question) => isOwn(question, operator) || operator.rights.has('approve'));
  return {
    now: ports.timeOfDay(),
    approvals: seen
      .sort((a, b) => a.askedAt - b.askedAt)
      .map((question) => {
        const { principal: _key, state: _state, name, client, caller, method, ...facts } = question;
        const shown = {
          ...{ caller: visible(caller), method: visible(method) },
          ...{ name: name && visible(name), client: client && visible(client) },
        };
        return {
          ...facts,
          ...shown,
          isOwn: isOwn(question, operator),
          whyNot: whyNotApproved(ports, question, operator),
        };
      }),
  };
}

/** `preview` is the hash of what was shown: another text was not approved. */
export async function answerApproval(ports: ConsolePorts, body: unknown, operator: Operator): Promise<object> {
  const { id, answer, preview } = isObject(body) ? body : {};
  if (typeof id !== 'string' || (answer !== 'approve' && answer !== 'deny'))
    throw new ConsoleRefusal(400, 'invalid_answer', 'Send `id`, `answer` (approve or deny) and `preview` (its hash)');
  const book = await ports.approvals.open();
  const question = await stored(book.byId(id));
  const isSeen = question !== undefined && (isOwn(question, operator) || operator.rights.has('approve'));
  if (question?.state !== 'open' || !isSeen) throw over();
  const isApproved = answer === 'approve';
  const whyNot = isApproved ? whyNotApproved(ports, question, operator) : undefined;
  if (whyNot !== undefined) throw new ConsoleRefusal(403, 'not_allowed', whyNot);
  if (isApproved && preview !== question.preview.hash)
    throw new ConsoleRefusal(409, 'preview_changed', 'This is not what the page has shown: look at it again');
  const who = shownPrincipal(operator.principal);
  if (!(await stored(book.answer(question, isApproved, who)))) throw over();
  record(ports, question, isApproved, operator);
  return { id, answer };
}

function over(): ConsoleRefusal {
  return new ConsoleRefusal(404, 'unknown_approval', 'There is no such question: it was answered, or is over');
}

function isOwn({ principal }: ApprovalQuestion, { principal: { key } }: Operator): boolean {
  return principal === key;
}

/** Why this person cannot approve the call. Undefined where they can. To deny it, seeing it is enough. */
function whyNotApproved(ports: ConsolePorts, question: ApprovalQuestion, operator: Operator): string | undefined {
  const { console: settings } = ports.currentGeneration.now.config;
  if (!question.preview.isComplete) return 'The arguments cannot be shown completely, so no one can approve them';
  if (question.by === 'caller') return isOwn(question, operator) ? undefined : 'Only the caller can approve this call';
  if (isOwn(question, operator)) return 'This is your own call: another person has to approve it';
  if (!operator.rights.has('approve')) return 'You may not approve calls: the config says who may';
  return isPerson(operator, settings?.approveByToken === true)
    ? undefined
    : 'Sign in with your password: a key or a token does not prove that a person approves';
}

/** A session of the bundled authorization server is of a person. Others prove only that they have a secret. */
function isPerson({ principal, credentials, byCookie }: Operator, areTokensGood: boolean): boolean {
  if (credentials === undefined) return principal.kind === 'token' && principal.subject !== undefined;
  return areTokensGood && byCookie === true && isPersonsToken(principal);
}

/** RFC 9068, 2.2: the token of a client that acts for itself names the client as its subject. */
function isPersonsToken({ kind, subject, clientId, claims }: Principal): boolean {
  const isOfClient = subject === clientId || claims.gty === 'client-credentials' || claims.idtyp === 'app';
  return kind === 'token' && subject !== undefined && !isOfClient;
}

function record(ports: ConsolePorts, question: ApprovalQuestion, isApproved: boolean, operator: Operator): void {
  const { id, by, rules, endpoint, backend, name } = question;
  const { principal, address } = operator;
  const answer = isApproved ? 'approved' : 'denied';
  ports.currentGeneration.now.authorizer.trail.answered({
    ...{ principal, address, endpoint, backend, name, rules },
    reason: isApproved ? undefined : 'approval_denied',
    approval: { id, step: 'answered', by, answer },
  });
  const facts = { who: shownPrincipal(principal), of: question.caller, name, backend, approval: id };
  ports.warn(`a call was ${answer} by a person`, facts);
}

async function stored<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error;
    throw new ConsoleRefusal(503, 'not_stored', `The store of approvals cannot be used: ${error.message}`);
  });
}
