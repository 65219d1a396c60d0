/** Serves the control socket of `bascule serve`. Without it the gateway works, so a failure is only told. */
import type { Assembled } from '../../app/assemble.ts';
import type { Log } from '../../observe/log.ts';
import { type ControlServer, type Operate, startControl } from './server.ts';
import { ControlError } from './socket-path.ts';

/** `forAll`: where the gateway has several processes, answers for all of them. */
export async function serveControl(
  { config, operating }: Assembled,
  log: Log,
  forAll: (operate: Operate) => Operate = (operate) => operate,
): Promise<ControlServer | undefined> {
  if (operating === undefined) return undefined;
  const fault = (error: unknown) => log.error({ cause: String(error) }, 'the control socket has a fault');
  try {
    return await startControl(
      config.store.dir,
      forAll((request) => operating.operate(request)),
      fault,
    );
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    log.info({}, `\`bascule status\` cannot ask this gateway: ${error.message}`);
    return undefined;
  }
}
