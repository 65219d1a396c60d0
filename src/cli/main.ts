/** The command line. Each file of `register/` adds a group of commands. */
import { Command } from 'commander';
import { about } from '../wire/about.ts';
import { registerAsking } from './register/asking.ts';
import { registerChecking } from './register/checking.ts';
import { registerInspecting } from './register/inspecting.ts';
import { registerLinking } from './register/linking.ts';
import { registerListFiles } from './register/list-files.ts';
import { registerPinning } from './register/pinning.ts';
import { registerProxying } from './register/proxying.ts';
import { registerServing } from './register/serving.ts';

const program = new Command(about.name)
  .description('An MCP gateway: any client revision in, any server revision out.')
  .version(about.version);

registerServing(program);
registerChecking(program);
registerListFiles(program);
registerPinning(program);
registerProxying(program);
registerInspecting(program);
registerLinking(program);
registerAsking(program);

// A rejection ends the process, as Node does by default.
void program.parseAsync();
