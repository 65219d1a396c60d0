/** Lists: shapes, schemas, pages, and what is not in them. */
import { paramHeaders } from '../../../wire/mirror.ts';
import { listFault, lists, type ServerList, toolSchemaFault } from '../../lists.ts';
import { objectIn, type PeerReply } from '../../peer/reply.ts';
import type { Talk } from '../../talk.ts';
import {
  all,
  broken,
  type CheckVerdict,
  codes,
  expectError,
  held,
  legacy,
  modern,
  notApplicable,
  notTested,
  type TalkCheck,
  unless,
} from '../check.ts';
import type { Lab } from '../lab.ts';
import { isServerRequest, noTool } from '../named-tool.ts';

const pages = {
  tools: '2025-11-25/server/tools#listing-tools',
  prompts: '2025-11-25/server/prompts#listing-prompts',
  resources: '2025-11-25/server/resources#listing-resources',
  resourceTemplates: '2025-11-25/server/resources#resource-templates',
} as const;

const shapeIds = {
  tools: 'tools:list:basic',
  prompts: 'prompts:list:basic',
  resources: 'resources:list:basic',
  resourceTemplates: 'resources:templates:list',
} as const;

const shapeChecks = lists.map(
  (kind): TalkCheck => ({
    id: shapeIds[kind.member],
    behaviour: `\`${kind.method}\` has entries of the shape that the schema requires.`,
    spec: pages[kind.member],
    level: 'must',
    revisions: all,
    run: async (talk, lab) => {
      if (talk.capabilities[kind.capability] === undefined) return undeclared(kind);
      const { entries, fault, bytes } = await lab.list(talk, kind.member);
      // What the pages lack is the subject of other checks.
      const isShape = fault?.finding === 'list_malformed' || fault?.finding === 'list_refused';
      const wrong = isShape ? fault.detail : listFault(kind, entries);
      return wrong === undefined ? held : { outcome: 'broken', found: wrong, bytes };
    },
  }),
);

export const listChecks: readonly TalkCheck[] = [
  ...shapeChecks,
  {
    id: 'tools:input-schema:json-schema-2020-12',
    behaviour: 'The schemas of tools are valid JSON Schema.',
    spec: '2025-11-25/basic#schema-validation',
    level: 'must',
    revisions: all,
    run: (talk, lab) => ofTools(talk, lab, toolSchemaFault),
  },
  {
    id: 'tools:list:basic#names',
    behaviour: 'Names of tools are unique, with 1 to 128 letters, digits, `_`, `-` and `.`.',
    spec: '2025-11-25/server/tools#tool-names',
    level: 'should',
    revisions: all,
    run: (talk, lab) =>
      ofTools(talk, lab, (tools) => {
        const names = tools.map((tool) => String(tool.name));
        const odd = names.find((name, at) => !/^[\w.-]{1,128}$/.test(name) || names.indexOf(name) !== at);
        return odd === undefined ? undefined : `the name ${JSON.stringify(odd.slice(0, 140))} is repeated or odd`;
      }),
  },
  {
    id: 'client-transport:http:custom-param-headers',
    behaviour: 'Annotations `x-mcp-header` are header names, unique, on strings, integers and booleans.',
    spec: '2026-07-28/server/tools#x-mcp-header',
    level: 'must',
    revisions: modern,
    run: (talk, lab) =>
      ofTools(talk, lab, (tools) => {
        for (const { name, inputSchema } of tools) {
          const read = paramHeaders(inputSchema);
          if ('invalid' in read) return `tool ${JSON.stringify(name)}: ${read.invalid}`;
        }
        return undefined;
      }),
  },
  {
    id: 'tools:list:basic#order',
    behaviour: 'Tools are listed in the same order each time.',
    spec: '2026-07-28/server/tools#capabilities',
    level: 'should',
    revisions: modern,
    run: (talk, lab) =>
      withTools(talk, async () => {
        const first = await lab.list(talk, 'tools');
        const again = await talk.request('tools/list');
        const page = again.answer?.result?.tools;
        const names = (entries: unknown) => JSON.stringify([entries].flat().map((tool) => objectIn(tool)?.name));
        const before = first.pages[0]?.answer?.result?.tools;
        return unless(names(page) !== names(before) && 'the second list has another order', again);
      }),
  },
  {
    id: 'pagination:exhaustion',
    behaviour: 'Following `nextCursor` comes to an end.',
    spec: '2025-11-25/server/utilities/pagination#response-format',
    level: 'must',
    revisions: all,
    run: async (talk, lab) => {
      for (const kind of declaredLists(talk)) {
        const { fault, bytes } = await lab.list(talk, kind.member);
        if (fault?.finding === 'pagination_endless') return { outcome: 'broken', found: fault.detail, bytes };
      }
      return held;
    },
  },
  {
    id: 'pagination:invalid-cursor',
    behaviour: 'A cursor that was never given out is refused with -32602.',
    spec: '2025-11-25/server/utilities/pagination#error-handling',
    level: 'should',
    revisions: all,
    run: async (talk) => {
      const [kind] = declaredLists(talk);
      if (kind === undefined) return notApplicable('the server declares no lists');
      const reply = await talk.request(kind.method, { cursor: 'bascule-check-no-such-cursor' });
      return expectError(reply, { codes: [codes.invalidParams] });
    },
  },
  {
    id: 'tools:call:unknown-name',
    behaviour: 'A tool that does not exist is answered with a JSON-RPC error, not with a result.',
    spec: '2025-11-25/server/tools#error-handling',
    level: 'should',
    revisions: all,
    run: (talk) =>
      withTools(talk, async () => {
        const params = { name: 'bascule-check-no-such-tool', arguments: {} };
        const reply = await talk.request('tools/call', params);
        return expectError(reply, { codes: [codes.invalidParams, codes.methodNotFound] });
      }),
  },
  {
    id: 'prompts:get:unknown-name',
    behaviour: 'A prompt that does not exist is answered with -32602.',
    spec: '2025-11-25/server/prompts#error-handling',
    level: 'should',
    revisions: all,
    run: async (talk) => {
      if (talk.capabilities.prompts === undefined) return undeclared({ capability: 'prompts' });
      const reply = await talk.request('prompts/get', { name: 'bascule-check-no-such-prompt' });
      return expectError(reply, { codes: [codes.invalidParams] });
    },
  },
  {
    id: 'resources:read:unknown-uri#legacy',
    behaviour: 'A resource that does not exist is answered with -32002.',
    spec: '2025-11-25/server/resources#error-handling',
    level: 'should',
    revisions: legacy,
    run: (talk) => unknownResource(talk, codes.resourceNotFound),
  },
  {
    id: 'resources:read:unknown-uri#modern',
    behaviour: 'A resource that does not exist is answered with -32602, and never with empty contents.',
    spec: '2026-07-28/server/resources#error-handling',
    level: 'must',
    revisions: modern,
    run: (talk) => unknownResource(talk, codes.invalidParams),
  },
  {
    id: 'tools:call:content:text',
    behaviour: 'A call of the named tool is answered with content blocks that have a type.',
    spec: '2025-11-25/server/tools#tool-result',
    level: 'must',
    revisions: all,
    run: async (talk, { tool }) => (tool === undefined ? noTool : calledTool(await tool.called(talk))),
  },
];

function calledTool(reply: PeerReply): CheckVerdict {
  if (reply.answer === undefined && reply.others.some(isServerRequest))
    return notTested('the tool asks the client for something before it answers');
  const result = reply.answer?.result;
  if (result?.resultType === 'input_required') return held;
  const content = result?.content;
  const isRight = Array.isArray(content) && content.every((block) => typeof block?.type === 'string');
  return isRight ? held : broken(reply);
}

function declaredLists(talk: Talk): readonly ServerList[] {
  return lists.filter(({ capability }) => talk.capabilities[capability] !== undefined);
}

function undeclared({ capability }: Pick<ServerList, 'capability'>): CheckVerdict {
  return notApplicable(`the server does not declare \`${capability}\``);
}

function withTools(talk: Talk, run: () => Promise<CheckVerdict>): Promise<CheckVerdict> {
  return talk.capabilities.tools === undefined ? Promise.resolve(undeclared({ capability: 'tools' })) : run();
}

function ofTools(
  talk: Talk,
  lab: Lab,
  fault: (tools: Awaited<ReturnType<Lab['tools']>>) => string | undefined,
): Promise<CheckVerdict> {
  return withTools(talk, async () => {
    const { entries, bytes } = await lab.list(talk, 'tools');
    const found = fault(entries);
    return found === undefined ? held : { outcome: 'broken', found, bytes };
  });
}

async function unknownResource(talk: Talk, code: number): Promise<CheckVerdict> {
  if (talk.capabilities.resources === undefined) return undeclared({ capability: 'resources' });
  return expectError(await talk.request('resources/read', { uri: 'bascule-check://no/such/resource' }), {
    codes: [code],
  });
}
