/**
 * The two pages on the way to a token: sign-in, and consent to the client. Where people sign in at a provider, consent
 * comes first, on the only page that names the client.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client, Interaction, Provider } from 'oidc-provider';
import { isOnThisComputer } from './clients.ts';
import type { CompanySignIn } from './company/sign-in.ts';
import type { Directory } from './directory.ts';
import { type FormTokens, readForm } from './forms.ts';
import { leadTo, type ShownPage, show } from './pages/answers.ts';
import { anywhere } from './pages/company.ts';
import { type ConsentView, consentPage } from './pages/consent.ts';
import { type LoginView, loginPage } from './pages/login.ts';
import { ended } from './pages/others.ts';
import { paths } from './paths.ts';
import type { Resources } from './resources.ts';
import type { ScopeBook } from './scopes.ts';
import { type SignInParts, signInBy } from './sign-in.ts';

export interface InteractionParts extends SignInParts {
  readonly provider: Provider;
  readonly directory: Pick<Directory, 'shownAs'>;
  /** Absent where people sign in with a password. */
  readonly company: Pick<CompanySignIn, 'begin' | 'providerName'> | undefined;
  readonly tokens: FormTokens;
  readonly scopes: ScopeBook;
  readonly resources: Resources;
}

interface InteractionRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly interaction: Interaction;
  readonly client: Client;
  readonly redirectUri: string;
}

export class Interactions {
  readonly #parts: InteractionParts;

  constructor(parts: InteractionParts) {
    this.#parts = parts;
  }

  /**
   * `id` is the last segment of the path. The cookie must name the same interaction, or it belongs to a different flow.
   */
  async handle(req: IncomingMessage, res: ServerResponse, id: string): Promise<void> {
    const { provider, tokens } = this.#parts;
    const form = req.method === 'POST' ? await readForm(req) : undefined;
    const interaction = await provider.interactionDetails(req, res).catch(() => undefined);
    const client = interaction && (await this.#clientOf(interaction));
    const redirectUri = interaction && (textOf(interaction, 'redirect_uri') ?? client?.redirectUris?.[0]);
    const isOurs = interaction?.uid === id && client !== undefined && redirectUri !== undefined;
    if (!isOurs) return show(res, ended);
    const turn: InteractionRequest = { req, res, interaction, client, redirectUri };
    if (req.method !== 'POST') return this.#ask(turn);
    if (form === undefined || !tokens.isRight(form.get('token'), id, interaction.prompt.name)) return show(res, ended);
    await this.#answer(turn, form);
  }

  /** A client with a metadata document may be unavailable by now. There is then no redirect URI to respond to. */
  async #clientOf(interaction: Interaction): Promise<Client | undefined> {
    const id = textOf(interaction, 'client_id') ?? '';
    return this.#parts.provider.Client.find(id).catch(() => undefined);
  }

  async #ask(turn: InteractionRequest): Promise<void> {
    if (turn.interaction.prompt.name !== 'login') return show(turn.res, await this.#consent(turn));
    show(
      turn.res,
      this.#parts.company === undefined ? this.#login(turn) : this.#consentBefore(turn, this.#parts.company),
    );
  }

  async #answer(turn: InteractionRequest, form: URLSearchParams): Promise<void> {
    const action = form.get('action');
    if (action === 'deny') {
      const result = { error: 'access_denied', error_description: 'the user denied the request' };
      return this.#parts.provider.interactionFinished(turn.req, turn.res, result, { mergeWithLastSubmission: false });
    }
    if (turn.interaction.prompt.name === 'login') {
      const { company } = this.#parts;
      if (company === undefined) return this.#signIn(turn, form);
      if (action !== 'allow') return this.#ask(turn);
      return company.begin(turn.req, turn.res, { kind: 'client', interaction: turn.interaction.uid });
    }
    if (action === 'allow') return this.#allow(turn);
    if (action === 'switch') return this.#startAgain(turn);
    return this.#ask(turn);
  }

  /**
   * The person comes from the provider, and agreed to the client before. The library's cookie is bound to the path of
   * the pages; the cookie of the way to the provider has proved that this is the same browser.
   */
  async arrived(res: ServerResponse, id: string, accountId: string): Promise<void> {
    const interaction = await this.#parts.provider.Interaction.find(id);
    const client = interaction && (await this.#clientOf(interaction));
    const isAwaited = interaction?.prompt.name === 'login' && interaction.result === undefined;
    if (!isAwaited || client === undefined) return show(res, ended);
    const grantId = await this.#grant(interaction, client, accountId);
    interaction.result = { login: { accountId }, consent: { grantId } };
    await interaction.save(interaction.exp - Math.floor(Date.now() / 1000));
    leadTo(res, interaction.returnTo);
  }

  async #signIn(turn: InteractionRequest, form: URLSearchParams): Promise<void> {
    const { req, res } = turn;
    const accountId = await signInBy({ req, res, form, again: (more) => this.#login(turn, more) }, this.#parts);
    if (accountId === undefined) return;
    const result = { login: { accountId, amr: ['pwd'] } };
    await this.#parts.provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false });
  }

  /** Creates a new grant each time, so that earlier consent neither grows nor is extended. */
  async #allow({ req, res, interaction, client }: InteractionRequest): Promise<void> {
    const accountId = interaction.session?.accountId;
    if (accountId === undefined) return show(res, ended);
    const result = { consent: { grantId: await this.#grant(interaction, client, accountId) } };
    await this.#parts.provider.interactionFinished(req, res, result, { mergeWithLastSubmission: true });
  }

  async #grant(interaction: Interaction, client: Client, accountId: string): Promise<string> {
    const { provider, resources, scopes } = this.#parts;
    const grant = new provider.Grant({ accountId, clientId: client.clientId });
    const scope = textOf(interaction, 'scope') ?? '';
    grant.addOIDCScope(scope);
    const own = scope.split(' ').filter((name) => scopes.all.includes(name));
    for (const resource of resourcesOf(interaction, resources)) grant.addResourceScope(resource, own.join(' '));
    return grant.save();
  }

  /** The person is not the signed-in user: end that session, and restart the client's authorization request. */
  async #startAgain({ res, interaction }: InteractionRequest): Promise<void> {
    const uid = interaction.session?.uid;
    const session = uid === undefined ? undefined : await this.#parts.provider.Session.findByUid(uid);
    await session?.destroy();
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(interaction.params)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (typeof one === 'string' || typeof one === 'number') query.append(name, String(one));
      }
    }
    leadTo(res, `${paths.authorize}?${query}`);
  }

  #login(turn: InteractionRequest, more: Pick<LoginView, 'name' | 'trouble'> = {}) {
    const { interaction, client, redirectUri } = turn;
    return loginPage({
      token: this.#parts.tokens.make(interaction.uid, 'login'),
      client: nameOf(client),
      formsLeadTo: formTargets(redirectUri),
      ...more,
    });
  }

  async #consent(turn: InteractionRequest): Promise<ShownPage> {
    const user = turn.interaction.session?.accountId ?? '';
    return consentPage({ ...this.#asked(turn), user: await this.#parts.directory.shownAs(user) });
  }

  #consentBefore(turn: InteractionRequest, { providerName }: Pick<CompanySignIn, 'providerName'>): ShownPage {
    const asked = this.#asked(turn);
    // The provider may let the person pass: the form then leads to the client's redirect, as cancelling does.
    const formsLeadTo = [...anywhere, ...(asked.formsLeadTo ?? [])];
    return consentPage({ ...asked, signInAt: providerName, formsLeadTo });
  }

  #asked({ interaction, client, redirectUri }: InteractionRequest): ConsentView {
    const { scopes, resources, tokens } = this.#parts;
    const asked = (textOf(interaction, 'scope') ?? '').split(' ').filter((name) => name !== '');
    return {
      token: tokens.make(interaction.uid, interaction.prompt.name),
      client: nameOf(client),
      clientHost: client.clientIdMetadataDocument ? new URL(client.clientId).host : undefined,
      redirectHost: new URL(redirectUri).host,
      isLocal: isOnThisComputer(redirectUri),
      scopes: asked.map((name) => scopes.inWords(name)),
      resource: resourcesOf(interaction, resources).join(', '),
      formsLeadTo: formTargets(redirectUri),
    };
  }
}

function textOf({ params }: Interaction, name: string): string | undefined {
  const value = params[name];
  return typeof value === 'string' ? value : undefined;
}

function resourcesOf({ params }: Interaction, resources: Resources): readonly string[] {
  const named = Array.isArray(params.resource) ? params.resource : [params.resource ?? resources.usual];
  return named.filter((one): one is string => typeof one === 'string');
}

function nameOf({ clientName, clientId }: Client): string {
  return clientName ?? clientId;
}

/**
 * The form targets for the Content-Security-Policy. Chromium applies the policy to every further redirect too, and web
 * clients redirect on to other hosts of theirs. A policy cannot name an IPv6 address.
 */
function formTargets(redirectUri: string): readonly string[] {
  const { protocol, hostname, origin } = new URL(redirectUri);
  return [protocol === 'https:' || hostname.startsWith('[') ? protocol : origin];
}
