// Imports point one way: docs/architecture.md has the picture. A pure room never reaches for the outside.
const pure = '^src/(wire|policy|catalog|exchange)/';

/** Everything but `lmdb` is bundled. */
const chosen =
  'node_modules/(@marcbachmann/cel-js|@types/node|commander|jose|lmdb|oauth4webapi|oidc-provider|pino|undici|yaml|zod)/';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
    {
      name: 'errors-imports-nothing',
      severity: 'error',
      from: { path: '^src/errors(\\.ts$|/)' },
      to: { pathNot: '^src/errors/' },
    },
    {
      name: 'wire-imports-only-errors',
      severity: 'error',
      from: { path: '^src/wire/' },
      to: { pathNot: '^src/(wire/|errors\\.ts$)' },
    },
    {
      name: 'pure-rooms-have-no-io',
      comment: 'Clocks, stores, ids and fetching are handed in as ports.',
      severity: 'error',
      from: { path: pure },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev'] },
    },
    {
      name: 'policy-and-catalog-import-only-wire',
      severity: 'error',
      from: { path: '^src/(policy|catalog)/' },
      to: { path: '^src/', pathNot: '^src/(wire|policy|catalog|identity)/|^src/errors\\.ts$' },
    },
    {
      name: 'exchange-knows-ports-not-implementations',
      severity: 'error',
      from: { path: '^src/exchange/' },
      to: { path: '^src/', pathNot: '^src/(wire|exchange)/|^src/(errors|about)\\.ts$|^src/store/ports\\.ts$|^src/policy/(permit|profile)\\.ts$|^src/identity/principal\\.ts$' },
    },
    {
      name: 'permits-are-minted-by-policy',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/policy/' },
      to: { path: '^src/policy/mint\\.ts$' },
    },
    {
      name: 'ingress-and-backend-never-meet',
      severity: 'error',
      from: { path: '^src/ingress/' },
      to: { path: '^src/(backend|credentials|gateway|authserver)' },
    },
    {
      name: 'backend-and-ingress-never-meet',
      severity: 'error',
      from: { path: '^src/backend/' },
      to: { path: '^src/(ingress|catalog|gateway|store)' },
    },
    {
      name: 'only-the-spine-knows-all-stages',
      severity: 'error',
      from: { path: '^src/(config|ingress|identity|backend|credentials|store|outward|observe|demo)/' },
      to: { path: '^src/(gateway|main)' },
    },
    {
      name: 'the-frame-of-pages-knows-no-room',
      severity: 'error',
      from: { path: '^src/pages/' },
      to: { path: '^src/', pathNot: '^src/pages/' },
    },
    {
      name: 'one-file-loads-the-oauth-library',
      comment: 'Nothing of it is loaded unless an authorization server is configured.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/authserver/provider\\.ts$' },
      to: { path: 'oidc-provider', pathNot: '^src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-demo-is-a-program-of-its-own',
      severity: 'error',
      from: { path: '^src/demo/' },
      to: { path: '^src/', pathNot: '^src/demo/|^src/wire/revisions\\.ts$' },
    },
    {
      name: 'outward-and-store-stand-alone',
      severity: 'error',
      from: { path: '^src/(outward|store)/' },
      to: { path: '^src/', pathNot: '^src/$1/' },
    },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, pathNot: '^src/(main|demo/main)\\.ts$|\\.d\\.ts$' }, to: {} },
    {
      name: 'only-chosen-packages-at-run-time',
      comment: 'docs/decisions/0003 says why each of them was chosen.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-no-pkg', 'npm-unknown'], pathNot: chosen },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js'] },
  },
};
