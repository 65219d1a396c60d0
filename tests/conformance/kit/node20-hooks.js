// Module hooks: the kit's bundle is changed on its way into memory, and the file on disk stays as it was published.
const BUNDLE = /\/@modelcontextprotocol\/conformance\/dist\/index\.js$/;
const FS_IMPORT = /import\{([^}]*?)globSync as (\w+),?([^}]*)\}from"fs";/;

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  if (!BUNDLE.test(url)) return loaded;
  const source = Buffer.from(loaded.source).toString('utf8');
  if (!FS_IMPORT.test(source)) throw new Error('The conformance kit no longer imports globSync: drop this hook');
  return {
    ...loaded,
    source: source.replace(FS_IMPORT, 'import{$1$3}from"fs";const $2=()=>{throw new Error("no globSync on Node 20")};'),
  };
}
