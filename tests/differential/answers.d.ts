export type Era = 'modern' | 'legacy';
export function isHousekeeping(message: unknown): boolean;
export function answerTo(message: unknown, era: Era): unknown;
