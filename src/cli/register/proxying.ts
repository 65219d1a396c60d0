/** `proxy`: the commands for the proxy listener. */
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { configAt, configOption, output } from '../with-config.ts';

interface ProxyFlags {
  readonly config?: string;
  readonly renew?: boolean;
}

export function registerProxying(program: Command): void {
  const proxy = program.command('proxy').description('what clients of the proxy listener need');
  proxy
    .command('ca')
    .description('make the certificate authority with which the proxy decrypts connections to backends')
    .option('--renew', 'replace it, although it is still good')
    .option(...configOption)
    .action((flags: ProxyFlags) =>
      withProxy(flags, async (config) => {
        const { makeProxyCa } = await import('../proxy-command.ts');
        return makeProxyCa(config, flags.renew === true, output);
      }),
    );
  proxy
    .command('env')
    .description('print the environment variables with which programs use the proxy')
    .option(...configOption)
    .action((flags: ProxyFlags) =>
      withProxy(flags, async (config) => {
        const { showProxyEnvironment } = await import('../proxy-command.ts');
        return showProxyEnvironment(config, output);
      }),
    );
}

async function withProxy({ config: path }: ProxyFlags, run: (config: Config) => Promise<number>): Promise<void> {
  const config = await configAt(path);
  if (config !== undefined) process.exitCode = await run(config);
}
