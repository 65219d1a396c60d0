// Preload for `node --import`: the kit imports `globSync` from `fs` by name, which Node 20 does not have, so it does
// not even link there. Only its `tier-check` command would call it.
import * as fs from 'node:fs';
import { register } from 'node:module';

if (!('globSync' in fs)) register('./node20-hooks.js', import.meta.url);
