/** The official TypeScript SDK, version 1: legacy. */
import { drive } from './driving.ts';
import { connectV1 } from './ts-v1-client.ts';

await drive(connectV1);
