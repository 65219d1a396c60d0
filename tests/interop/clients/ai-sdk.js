/** Vercel's AI SDK, its MCP client. Runs on Node 22, with its own packages: no TypeScript, nothing of the project. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, jobFile] = process.argv.slice(2);
const require = createRequire(`${modules}/x.js`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { createMCPClient, ElicitationRequestSchema } = await load('@ai-sdk/mcp');
const { Experimental_StdioMCPTransport: StdioTransport } = await load('@ai-sdk/mcp/mcp-stdio');

const job = JSON.parse(await readFile(jobFile, 'utf8'));
const { target, answers } = job;
const heard = [];
const transport =
  'url' in target
    ? { type: 'http', url: target.url }
    : new StdioTransport({ command: target.command, args: target.args, cwd: target.cwd, env: target.env });
const client = await createMCPClient({ transport, capabilities: { elicitation: {} } });
client.onElicitationRequest(ElicitationRequestSchema, ({ method, params }) => {
  heard.push({ method, params });
  return answers.elicitation;
});

const requests = {
  'tools/list': () => client.listTools(),
  'tools/call': async ({ name, arguments: args }) => {
    const tools = await client.tools();
    if (tools[name] === undefined) throw new Error(`no tool ${name}`);
    return tools[name].execute(args, { toolCallId: '1', messages: [] });
  },
  'prompts/list': () => client.experimental_listPrompts?.() ?? client.listPrompts(),
  'prompts/get': (params) => client.experimental_getPrompt?.(params) ?? client.getPrompt(params),
  'resources/list': () => client.listResources(),
  'resources/templates/list': () => client.listResourceTemplates(),
  'resources/read': (params) => client.readResource(params),
};

const outcomes = [];
for (const { method, params } of job.steps) {
  try {
    outcomes.push({ result: await requests[method](params) });
  } catch (error) {
    outcomes.push({ error: { code: error.code, message: error.message, data: error.data } });
  }
}
await new Promise((resolve) => setTimeout(resolve, job.settleMs));
await client.close();
const connected = { serverInfo: client.serverInfo, instructions: client.instructions };
process.stdout.write(`${JSON.stringify({ connected, outcomes, heard })}\n`, () => process.exit(0));
