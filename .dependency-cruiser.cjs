// Imports point one way: docs/architecture.md has the picture. A pure folder never reaches for the outside.
const pure = '^src/(wire|policy|pins|budget|catalog|exchange|bridge|session|subscriptions|tasks)/';

/** Everything but `lmdb` is bundled. */
const chosen =
  'node_modules/(@cedar-policy/cedar-wasm|@cfworker/json-schema|@marcbachmann/cel-js|@opentelemetry/[a-z-]+|@types/node|@types/oidc-provider|commander|htm|ioredis|jose|lmdb|oauth4webapi|oidc-provider|preact|smol-toml|undici|yaml|zod)/';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
    {
      name: 'errors-imports-nothing',
      severity: 'error',
      from: { path: '^src/errors/' },
      to: { pathNot: '^src/errors/' },
    },
    {
      name: 'wire-imports-only-errors',
      severity: 'error',
      from: { path: '^src/wire/' },
      to: { pathNot: '^src/(wire|errors)/' },
    },
    {
      name: 'pure-folders-have-no-io',
      comment: 'Clocks, stores, ids and fetching are handed in as ports. The validator of schemas does no I/O.',
      severity: 'error',
      from: { path: pure },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev'], pathNot: 'node_modules/@cfworker/json-schema/' },
    },
    {
      name: 'pure-folders-know-ports-not-implementations',
      comment: 'The form of an audit record belongs to observe.',
      severity: 'error',
      from: { path: pure },
      to: {
        path: '^src/',
        pathNot: `${pure}|^src/(errors|identity)/|^src/store/ports\\.ts$|^src/jsonrpc/ports\\.ts$|^src/observe/audit[a-z-]*\\.ts$`,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'exchange-is-the-lowest-of-the-pure-folders',
      severity: 'error',
      from: { path: '^src/exchange/' },
      to: { path: '^src/', pathNot: '^src/(exchange|wire|errors)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'permits-are-minted-by-policy',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/policy/' },
      to: { path: '^src/policy/mint\\.ts$' },
    },
    {
      name: 'downstream-and-upstream-never-meet',
      severity: 'error',
      from: { path: '^src/downstream/' },
      to: { path: '^src/(upstream|oauth|app|cli|bridge|session|catalog)/', pathNot: '^src/oauth/fetch/addresses\\.ts$' },
    },
    {
      name: 'downstream-hands-over-to-the-pipeline-by-ports',
      comment: 'Which era a message is of is asked in one place.',
      severity: 'error',
      from: { path: '^src/downstream/' },
      to: { path: '^src/pipeline/', pathNot: '^src/pipeline/admit\\.ts$' },
    },
    {
      name: 'upstream-and-downstream-never-meet',
      severity: 'error',
      from: { path: '^src/upstream/' },
      to: { path: '^src/(downstream|catalog|pipeline|store|app|cli)/' },
    },
    {
      name: 'only-the-pipeline-and-the-app-know-all-stages',
      severity: 'error',
      from: { path: '^src/(config|downstream|identity|upstream|oauth|store|observe|demo)/' },
      to: {
        path: '^src/(pipeline|app|cli)/',
        pathNot: '^src/pipeline/admit\\.ts$|^src/app/clock\\.ts$',
        // Observers see the context of a request, and call nothing of it.
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'the-frame-of-pages-knows-no-folder',
      severity: 'error',
      from: { path: '^src/web/' },
      to: { path: '^src/', pathNot: '^src/web/' },
    },
    {
      name: 'one-file-loads-the-oauth-library',
      comment: 'Nothing of it is loaded unless an authorization server is configured.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/oauth/server/provider\\.ts$' },
      to: { path: 'oidc-provider', pathNot: '^src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'one-file-loads-opentelemetry',
      comment: 'Nothing of it is loaded unless traces are configured.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/observe/traces/export\\.ts$' },
      to: { path: '@opentelemetry', pathNot: '^src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'one-file-loads-the-redis-library',
      comment: 'Nothing of it is loaded unless `store.url` is configured.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/store/redis/redis-client\\.ts$' },
      to: { path: 'node_modules/ioredis/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'one-file-loads-cedar',
      comment: 'Nothing of it is loaded unless `policy.cedar` is configured.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/decisions/cedar/module\\.ts$' },
      to: { path: 'node_modules/@cedar-policy/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-demo-is-a-program-of-its-own',
      severity: 'error',
      from: { path: '^src/demo/' },
      to: { path: '^src/', pathNot: '^src/demo/|^src/wire/revisions\\.ts$' },
    },
    {
      name: 'the-pages-of-the-console-run-in-a-browser',
      comment: 'They get their facts from the API alone.',
      severity: 'error',
      from: { path: '^src/console/page/' },
      to: { path: '^src/', pathNot: '^src/console/page/' },
    },
    {
      name: 'only-pages-use-preact',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/console/page/' },
      to: { path: 'node_modules/(preact|htm)/' },
    },
    {
      name: 'guarded-fetch-and-store-stand-alone',
      severity: 'error',
      from: { path: '^src/(oauth/fetch|store)/' },
      to: { path: '^src/', pathNot: '^src/$1/' },
    },
    {
      name: 'only-its-commands-load-the-doctor',
      comment: 'They are loaded dynamically: `serve` does not pay for them.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(doctor/|cli/(doctor-command|check-command|inspection-options)\\.ts$)' },
      to: { path: '^src/doctor/', dependencyTypesNot: ['type-only'] },
    },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, pathNot: '^src/(cli/main|cli/launch|demo/main|console/page/enter)\\.ts$|\\.d\\.ts$' }, to: {} },
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
