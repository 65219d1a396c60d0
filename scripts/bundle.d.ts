import type { Plugin } from 'esbuild';

export function bundle(outdir: string, plugins?: readonly Plugin[]): Promise<void>;
