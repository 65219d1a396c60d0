/** `bascule doctor <target>`. */
import { spawn } from 'node:child_process';
import { diagnose } from '../doctor/diagnose.ts';
import { stepLines, verdictLine } from '../doctor/report.ts';
import { type InspectionFlags, withOptions } from './inspection-options.ts';

/** Returns the exit code: 1 where a step failed. */
export function doctor(words: readonly string[], flags: InspectionFlags): Promise<number> {
  return withOptions(words, flags, async (options) => {
    const { register = false, login = false, clientId, json = false } = flags;
    const say = (text: string) => void process.stdout.write(`${text}\n`);
    const reports = await diagnose({ ...options, register, login, clientId, openPage }, (report) => {
      if (!json) say(stepLines(report));
    });
    const isFine = reports.every(({ state }) => state !== 'failed');
    if (json) say(JSON.stringify({ ok: isFine, steps: reports }, null, 2));
    else say(`\n${verdictLine(reports)}`);
    return isFine ? 0 : 1;
  });
}

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** On stderr, so that `--json` stays readable. Without a browser on this machine, the user opens it elsewhere. */
function openPage(url: string): void {
  process.stderr.write(`Open this page to sign in:\n${url}\n`);
  const [command = '', ...args] = openers[process.platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
