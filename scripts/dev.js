// `npm run dev [-- arguments of bascule]`: builds, runs the gateway, and starts it again whenever a source file
// changes.
import { spawn } from 'node:child_process';
import { watchBundle } from './bundle.js';

const args = process.argv.slice(2);
let child;

function run() {
  child = spawn(process.execPath, ['bin/bascule.js', ...(args.length === 0 ? ['serve'] : args)], { stdio: 'inherit' });
}

/** A second signal would not wait for what runs: one is enough, and the port is free when the process is gone. */
function restart() {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
    run();
    return;
  }
  child.once('exit', run);
  child.kill('SIGTERM');
}

await watchBundle('dist', (errors) => {
  if (errors === 0) restart();
});
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    child?.kill(signal);
    process.exit();
  });
}
