/**
 * The outcome of a cell travels in the report of the run, as what a test verifies does; scripts/write-bridging-doc.ts
 * prints it.
 */
import type { TaskMeta } from 'vitest';

export interface Cell {
  readonly table: 'features' | 'revisions';
  readonly row: string;
  /** Where the row stands. */
  readonly place: number;
  readonly column: string;
  /** Over which transports, client first. */
  readonly over: string;
  readonly words: string;
}

declare module 'vitest' {
  interface TaskMeta {
    cell?: Cell;
  }
}

export function record(task: { readonly meta: TaskMeta }, cell: Cell): void {
  task.meta.cell = cell;
}
