/** Which release of each peer is measured. */

/**
 * The newest ones that could be installed on 2026-11-18. FastMCP 4.1.4 and 4.1.3 ask for a `certifi` that PyPI did not
 * have yet, ToolHive 0.45 and later for modules that the Go module proxy did not have. nginx is what Debian has.
 */
export const versions = {
  supergateway: '4.0.0',
  tbxark: 'v0.43.2',
  toolhive: 'v0.44.0',
  fastmcp: '4.1.2',
  contextForge: '1.0.7.post20260921',
  sparfenyuk: '0.13.0',
} as const;
