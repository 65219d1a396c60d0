import type { Metafile, Plugin } from 'esbuild';

export const copiedPackages: readonly string[];
export function bundle(outdir: string, plugins?: readonly Plugin[]): Promise<Metafile[]>;
