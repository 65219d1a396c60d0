/** Failures of requests to the proxy, before they are requests of an endpoint. */
import { INTERNAL, INVALID_REQUEST, rows } from './row.ts';

export const proxied = rows(
  { blame: 'client', status: 403, code: 403 },
  {
    proxy_host_not_listed: {
      message: 'The proxy does not serve this host',
      when: 'The proxy serves the hosts and ports of the configured backends, exactly as the config has them, and no others. No connection was made.',
    },
    proxy_path_not_listed: {
      message: 'The proxy serves no such address at this host',
      when: 'The host is the one of a backend, but its path or query is another than in the `url` of the backend. Nothing was sent to the host.',
    },
    proxy_target_invalid: {
      status: 400,
      code: INVALID_REQUEST,
      message: 'The target of the request is not valid at a proxy',
      when: 'The request names no absolute `http://` address, or the target of a CONNECT is not a host with a port; `Host` differs from the target; the address has a user name, or is not in its canonical form; or a CONNECT has a body. The message says which.',
    },
    proxy_tunnel_nested: {
      message: 'A tunnel inside a tunnel is not possible',
      when: 'A connection that was opened with CONNECT has sent another CONNECT.',
    },
    proxy_ca_missing: {
      blame: 'gateway',
      status: 503,
      code: INTERNAL,
      message: 'The proxy has no certificate authority',
      when: 'The connection would have to be decrypted. Run `bascule proxy ca` once, and make the clients trust its certificate: `bascule proxy env` shows how.',
    },
    proxy_ca_outdated: {
      blame: 'gateway',
      status: 503,
      code: INTERNAL,
      message: 'The certificate authority of the proxy is not for this host, or has expired',
      when: 'The host was added to the config after the certificate authority was made, or the 90 days of the certificate authority are over. Run `bascule proxy ca` again, and have the clients read its certificate again.',
    },
    proxy_tunnel_unreachable: {
      blame: 'backend',
      status: 502,
      code: INTERNAL,
      message: 'The host of the tunnel cannot be reached',
      when: 'A host with `tunnel: true` does not accept the connection, or its name leads to an address that the gateway does not connect to.',
    },
  },
);
