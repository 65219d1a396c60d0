/** JSON-RPC services that are not MCP. */
import { type FailureRow, INVALID_REQUEST, row } from './row.ts';

export const jsonRpc = {
  unsupported_batch: row(
    'client',
    400,
    INVALID_REQUEST,
    'Batches are not supported',
    'The body is a JSON array, and this JSON-RPC endpoint says `batches: deny`. No member is parsed.',
  ),
} as const satisfies Record<string, FailureRow>;
