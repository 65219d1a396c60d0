/** The `_meta` keys of the core protocol. https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta */
const CORE = 'io.modelcontextprotocol/';

export const metaKeys = {
  protocolVersion: `${CORE}protocolVersion`,
  clientInfo: `${CORE}clientInfo`,
  clientCapabilities: `${CORE}clientCapabilities`,
  logLevel: `${CORE}logLevel`,
  subscriptionId: `${CORE}subscriptionId`,
  serverInfo: `${CORE}serverInfo`,
} as const;
