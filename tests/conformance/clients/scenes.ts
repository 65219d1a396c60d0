/**
 * What stands in the gateway's config, and what the client in front of it does, in each of the kit's scenarios for
 * clients.
 */
import type { Client } from '@modelcontextprotocol/client';

/** What the kit tells beside the address: credentials, calls to make. */
export type Context = Readonly<Record<string, unknown>>;

export interface Scene {
  /** `auth:` of the backend. Absent: it wants none. */
  auth?(context: Context): object;
  /** What the client declares, besides that it can open pages and fill in forms. */
  readonly capabilities?: object;
  act(client: Client, context: Context): Promise<void>;
  /** Of the backend. */
  readonly profile?: { readonly revisions: readonly string[] };
}

/** What the kit's servers take for a client-ID metadata document; nobody fetches it. */
const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';

const text = (context: Context, name: string): string => String(context[name]);

async function list(client: Client): Promise<void> {
  await client.listTools();
}

function calls(...names: readonly string[]) {
  return async (client: Client) => {
    await client.listTools();
    for (const name of names) await client.callTool({ name, arguments: {} });
  };
}

const person: Scene = {
  auth: () => ({ type: 'oauth', clientMetadataUrl }),
  act: calls('test-tool'),
};

async function everyKind(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  await client.callTool({ name: tools[0]?.name ?? '', arguments: {} });
  const { resources } = await client.listResources();
  await client.readResource({ uri: resources[0]?.uri ?? '' });
  const { prompts } = await client.listPrompts();
  await client.getPrompt({ name: prompts[0]?.name ?? '', arguments: {} });
}

async function saidCalls(client: Client, { toolCalls }: Context): Promise<void> {
  await client.listTools();
  for (const call of toolCalls as readonly { name: string; arguments: Record<string, unknown> }[]) {
    await client.callTool(call);
  }
}

async function everyTool(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  for (const { name } of tools) await client.callTool({ name, arguments: { region: 'us-west1' } });
}

async function echoSchema(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema;
  await client.callTool({ name: 'json_schema_echo', arguments: { schema } });
}

async function add(client: Client): Promise<void> {
  await client.listTools();
  await client.callTool({ name: 'add_numbers', arguments: { a: 5, b: 3 } });
}

const scenes: Readonly<Record<string, Scene>> = {
  initialize: { act: list },
  tools_call: { act: add },
  'elicitation-sep1034-client-defaults': {
    capabilities: { elicitation: { form: { applyDefaults: true } } },
    act: calls('test_client_elicitation_defaults'),
  },
  'sse-retry': { act: calls('test_reconnection') },
  // A modern server may have a legacy half and say nothing of it: unless the config says how it is to be spoken to, the
  // gateway asks once, by an `initialize`, which is none of this revision's.
  'request-metadata': {
    profile: { revisions: ['2026-07-28'] },
    capabilities: { roots: { listChanged: true }, sampling: {} },
    act: async () => undefined,
  },
  'sep-2322-client-request-state': {
    act: calls('test_mrtr_echo_state', 'test_mrtr_no_state', 'test_mrtr_unrelated', 'test_mrtr_no_result_type'),
  },
  'http-standard-headers': { act: everyKind },
  'http-custom-headers': { act: saidCalls },
  'http-invalid-tool-headers': { act: everyTool },
  'json-schema-ref-no-deref': { act: list },
  'json-schema-2020-12-preservation': { act: echoSchema },
  'auth/pre-registration': {
    ...person,
    auth: (context) => ({
      type: 'oauth',
      clientId: text(context, 'client_id'),
      clientSecret: text(context, 'client_secret'),
    }),
  },
  'auth/client-credentials-basic': {
    auth: (context) => ({
      type: 'oauth',
      grant: 'client_credentials',
      clientId: text(context, 'client_id'),
      clientSecret: text(context, 'client_secret'),
    }),
    act: list,
  },
  'auth/client-credentials-jwt': {
    auth: (context) => ({
      type: 'oauth',
      grant: 'client_credentials',
      clientId: text(context, 'client_id'),
      privateKey: text(context, 'private_key_pem'),
    }),
    act: list,
  },
  'auth/enterprise-managed-authorization': {
    auth: (context) => ({
      type: 'oauth',
      grant: 'identity_assertion',
      issuer: text(context, 'issuer'),
      clientId: text(context, 'client_id'),
      clientSecret: text(context, 'client_secret'),
      identityProvider: {
        issuer: text(context, 'idp_issuer'),
        clientId: text(context, 'idp_client_id'),
        subjectTokenType: 'id_token',
      },
    }),
    act: calls('test-tool'),
  },
};

export function sceneOf(scenario: string): Scene {
  return scenes[scenario] ?? person;
}
