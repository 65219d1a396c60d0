/** A gateway with metrics and a Prometheus that scrapes it, as processes of the test. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../bench/free-port.ts';
import { bundle } from '../../scripts/bundle.js';
import { alertsFile } from '../observe/metrics/shipped-queries.ts';

const WAIT_MS = 30_000;
/** Real gateways are scraped every 15 s or so; a test does not wait that long. */
const SCRAPE = '1s';

export interface StartedGateway {
  readonly origin: string;
  readonly metrics: string;
  readonly process: ChildProcess;
}

/**
 * Two backends work, one of them in an older revision, and one is down. A rule denies one tool, and one rate is soon
 * exceeded. `service`: the address of a JSON-RPC service.
 */
export async function startServing(folder: string, service: string): Promise<StartedGateway> {
  const dist = join(folder, 'dist');
  await bundle(dist);
  const demo = { command: process.execPath, args: [join(dist, 'demo.js')] };
  const config = {
    listen: { port: 0 },
    backends: {
      demo,
      older: { ...demo, profile: { revisions: ['2025-06-18'] } },
      down: { url: 'http://127.0.0.1:9/mcp' },
      ledger: { protocol: 'json-rpc', url: service },
    },
    endpoints: [
      ...['demo', 'older'].map((name) => ({ path: `/servers/${name}/mcp`, backends: [name] })),
      { path: '/rpc', protocol: 'json-rpc', backends: ['ledger'] },
    ],
    policy: {
      rules: [
        { id: 'all', effect: 'allow' },
        { id: 'no-add', effect: 'deny', what: ['call'], on: { tools: ['add'] } },
      ],
    },
    rates: [{ id: 'prompts', per: ['principal'], what: ['get'], perSecond: 0.5, burst: 1 }],
    audit: { to: 'audit.jsonl' },
    metrics: { listen: '127.0.0.1:0' },
  };
  writeFileSync(join(folder, 'bascule.yaml'), JSON.stringify(config));
  const child = spawn(process.execPath, [join(dist, 'main.js'), 'serve'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await eventually('the gateway listens', () => /Backends:/.test(said));
  const [metrics = ''] = /http:\/\/\S+\/metrics/.exec(said) ?? [];
  const [, origin = ''] = /^Bascule \S+ {2}(http:\/\/[^/\s]+)/m.exec(said) ?? [];
  return { origin, metrics, process: child };
}

export interface StartedPrometheus {
  readonly url: string;
  readonly process: ChildProcess;
}

export async function startPrometheus(folder: string, metrics: string): Promise<StartedPrometheus> {
  const rules = fileURLToPath(alertsFile);
  execFileSync('promtool', ['check', 'rules', rules], { stdio: 'inherit' });
  const { host, pathname } = new URL(metrics);
  const config = {
    global: { scrape_interval: SCRAPE, evaluation_interval: SCRAPE },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'bascule', metrics_path: pathname, static_configs: [{ targets: [host] }] }],
  };
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const port = await freePort();
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  return { url: `http://127.0.0.1:${port}`, process: child };
}

export async function eventually(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const until = Date.now() + WAIT_MS; Date.now() < until; ) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not within ${WAIT_MS} ms: ${what}`);
}
