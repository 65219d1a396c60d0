/** How the gateway names itself to peers that ask. tests/about.test.ts holds it to package.json. */
export const about = { name: 'bascule', version: '0.1.0' } as const;
