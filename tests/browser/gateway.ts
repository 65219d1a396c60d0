/** The built gateway with its own authorization server and the demo behind it, in a folder of its own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashPassword } from '../../src/oauth/server/passwords.ts';
import { addUser } from '../../src/oauth/server/user-book.ts';
import { writeUserFile } from '../../src/oauth/server/user-file.ts';
import { ROOT, type Started, startGateway } from '../conformance/processes.ts';

export const who = { name: 'ada', password: 'correct horse battery' };

export interface Running {
  readonly folder: string;
  readonly origin: string;
  /** The demo alone, under its own names. */
  readonly url: string;
  stop(): Promise<void>;
}

export async function startAuthorized(authServer: object = { users: 'users.json' }): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), 'bascule-browser-'));
  const users = addUser(undefined, who.name, await hashPassword(who.password), 0);
  await writeFile(join(folder, 'users.json'), writeUserFile(users));
  const config = {
    backends: { demo: { command: process.execPath, args: [join(ROOT, 'dist/demo.js')] } },
    identity: { authServer },
    store: { dir: 'state' },
  };
  const configFile = join(folder, 'bascule.yaml');
  await writeFile(configFile, JSON.stringify(config));
  const nowhere = new URL('http://127.0.0.1:1/mcp');
  const started: Started = await startGateway(
    [process.execPath, join(ROOT, 'bin/bascule.js'), 'serve'],
    configFile,
    join(folder, 'gateway.log'),
    nowhere,
  );
  const { origin } = started.url;
  return {
    folder,
    origin,
    url: `${origin}/servers/demo/mcp`,
    stop: async () => {
      await started.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
