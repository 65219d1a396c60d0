/** Addresses of servers that secrets are sent to. */
import { isSafeAddress } from '../identity/documents.ts';
import * as shape from './shapes.ts';

const aSafeAddress = 'an https:// address, or an http:// one on this machine';
export const safeAddress = shape.text(aSafeAddress, isSafeAddress);

/** RFC 8414, 2: neither query nor fragment. Kept exactly as written, since issuers are compared as strings. */
export const issuerAddress = shape.text(
  `${aSafeAddress}, without ? and #, spelled exactly as in its tokens`,
  (text) => isSafeAddress(text) && !/[?#\s]/.test(text),
);
