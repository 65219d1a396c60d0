/** A gateway that asks who is calling, and what somebody needs to get in: keys, and tokens of a real issuer. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT, startGateway } from '../conformance/processes.ts';
import { launchOidc } from '../interaction/harness/oidc.ts';

const bascule = join(ROOT, 'bin/bascule.js');
const scopes = 'mcp:use';

export interface Guarded {
  /** Without a path. */
  readonly origin: string;
  readonly key: string;
  token(resource: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startGuarded(home: string): Promise<Guarded> {
  const issuer = await launchOidc(scopes);
  const keys = join(home, 'keys.json');
  const made = ['key', 'new', 'inspector', '--scope', scopes, '--file', keys];
  const { stdout } = await promisify(execFile)(process.execPath, [bascule, ...made]);
  const config = join(home, 'guarded.yaml');
  const demo = { command: process.execPath, args: [join(ROOT, 'dist/demo.js')] };
  const identity = {
    keys: { file: keys, header: 'x-access-key' },
    issuers: [{ issuer: issuer.url }],
    scopes: { required: [scopes] },
  };
  // JSON is YAML.
  await writeFile(config, JSON.stringify({ backends: { demo }, identity }));
  const command = [process.execPath, bascule, 'serve'];
  const gateway = await startGateway(command, config, join(home, 'guarded.log'), new URL('http://127.0.0.1/'));
  return {
    origin: gateway.url.origin,
    key: stdout.trim(),
    token: (resource) => issuer.token(issuer.clients.alice, resource, scopes),
    stop: async () => {
      await gateway.stop();
      await issuer.close();
    },
  };
}
