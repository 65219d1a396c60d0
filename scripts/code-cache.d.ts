export function writeCodeCache(outdir: string): Promise<void>;
