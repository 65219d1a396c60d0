/** Other people's clients, in front of the gateway. */
import { fileURLToPath } from 'node:url';
import type { Era } from './job.ts';
import { bin, type Installed } from './software.ts';

const CLIENTS = fileURLToPath(new URL('./clients/', import.meta.url));

export interface Client {
  readonly name: string;
  readonly version: string;
  readonly needs: Installed;
  /** `auto`: which era it uses is for the library to say. */
  readonly eras: readonly Era[];
  readonly transports: readonly ('stdio' | 'http')[];
  /** The command that takes the file with the job. */
  readonly driver: readonly string[];
  /** Methods that the library offers to its users; the script leaves out the others. */
  readonly methods: readonly string[] | 'all';
  /** In the short form every server is tried with it. */
  readonly isReference?: true;
  /** Only in the long form. */
  readonly isLong?: true;
}

const ts = (file: string): readonly string[] => [process.execPath, '--import', 'tsx', `${CLIENTS}${file}`];
const python = (venv: string, file: string): readonly string[] => [bin(venv, 'python'), `${CLIENTS}${file}`];

const BOTH = ['stdio', 'http'] as const;

export const CLIENT_ROWS: readonly Client[] = [
  {
    name: 'TypeScript SDK',
    version: '1.32.2',
    needs: 'project',
    eras: ['legacy'],
    transports: BOTH,
    driver: ts('ts-v1.ts'),
    methods: 'all',
    isReference: true,
  },
  {
    name: 'TypeScript SDK',
    version: '2.4.0',
    needs: 'project',
    eras: ['legacy', 'modern'],
    transports: BOTH,
    driver: ts('ts-v2.ts'),
    methods: 'all',
    isReference: true,
  },
];
export { python };
