/** How the server introduces itself, in `initialize` and in `server/discover`. */
import { logo } from './media.ts';

export const icons = [{ src: `data:image/png;base64,${logo}`, mimeType: 'image/png', sizes: ['32x32'] }];

/** Short, because every modern result carries it. */
export const identity = { name: 'bascule-demo', title: 'Bascule demo server', version: '1.0.0' };

export const serverInfo = {
  ...identity,
  description: 'One of everything that an MCP server can show to a client, in every protocol revision',
  icons,
};

export const capabilities = {
  completions: {},
  logging: {},
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  tools: { listChanged: true },
};

export const instructions =
  'A server to try a client or a gateway with. Start with the tool echo. count reports progress and can be cancelled; ' +
  'ask_name, ask_url, two_questions, interview, summarise and list_roots ask you something in the middle of the call; ' +
  'touch_note and the toggle tools send notifications.';
