/** The gateway's name and version, as peers get them. tests/about.test.ts compares them with package.json. */
export const about = { name: 'bascule', version: '0.1.0' } as const;
