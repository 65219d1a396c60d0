/** nginx with one worker, as a plain reverse proxy: what it costs to pass bytes on and to know nothing of MCP. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianPackage, installOnce, peerPath, said } from './install.ts';
import { type Front, type Given, overHttp, type Peer } from './peer.ts';

const name = 'nginx';
const program = peerPath(name, 'usr/sbin/nginx');

function front({ port, directory }: Given, backend: URL): Front {
  const path = join(directory, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${directory};`);
  const config = `
    daemon off;
    worker_processes 1;
    pid ${directory}/pid;
    events {}
    http {
      ${temporary.join(' ')}
      access_log off;
      keepalive_requests 1000000;
      upstream backend { server ${backend.host}; keepalive 64; keepalive_requests 1000000; }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://backend;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_set_header Host $host;
        }
      }
    }`;
  writeFileSync(path, config);
  return { name, command: program, args: ['-c', path, '-e', 'stderr'], path: backend.pathname };
}

export const nginx: Peer = {
  name,
  install: async () => {
    await installOnce(name, debianPackage('nginx'));
    return said(/(?<=nginx\/)\S+/, program, '-v');
  },
  contestants: [overHttp(name, 'peers-http-legacy', front), overHttp(name, 'peers-http-modern', front)],
};
