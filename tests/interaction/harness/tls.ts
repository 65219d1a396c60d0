/** Certificates of a gateway with TLS, and clients that trust them. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { type CertificateFiles, makeAuthority, makeCertificate } from '../../redis/certificates.ts';
import { type Call, DEADLINE_MS, type Json } from './client.ts';

export interface TlsFolder {
  readonly folder: string;
  readonly ca: string;
  /** What the config says. */
  readonly tls: { readonly cert: string; readonly key: string };
  /** Another certificate of the same authority, which is not in use. */
  another(): CertificateFiles;
  /** Puts it where the gateway reads it, as a renewal does. */
  install(files: CertificateFiles): void;
}

export function tlsFolder(): TlsFolder {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const authority = makeAuthority(folder);
  let made = 0;
  const tls = { cert: join(folder, 'gateway.pem'), key: join(folder, 'gateway.key') };
  const another = () => {
    made += 1;
    const own = join(folder, String(made));
    mkdirSync(own);
    return makeCertificate(own, authority, 'IP:127.0.0.1');
  };
  const install = ({ certificate, key }: CertificateFiles) => {
    copyFileSync(key, tls.key);
    copyFileSync(certificate, tls.cert);
  };
  install(another());
  return { folder, ca: readFileSync(authority.certificate, 'utf8'), tls, another, install };
}

/** Its connections are closed when the test is over. None resumes the session of another: each sees a certificate. */
export function agentFor(ca: string, keepAlive: boolean): Agent {
  const agent = new Agent({ ca, keepAlive, maxCachedSessions: 0 });
  onTestFinished(() => agent.destroy());
  return agent;
}

export interface SecureAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
  /** Of the certificate that the gateway has shown. */
  readonly serial: string;
}

export function sendTls(
  url: string,
  agent: Agent,
  { method = 'POST', headers = {}, body }: Call,
): Promise<SecureAnswer> {
  return new Promise((resolve, reject) => {
    const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const asked = request(
      url,
      { agent, method, headers: { ...accept, ...headers }, timeout: DEADLINE_MS },
      (answer) => {
        const serial = (answer.socket as TLSSocket).getPeerCertificate().serialNumber;
        const chunks: Buffer[] = [];
        answer.on('error', reject).on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, serial, body: jsonIn(text) });
        });
      },
    );
    asked.on('timeout', () => asked.destroy(new Error('no answer')));
    asked.on('error', reject);
    asked.end(typeof body === 'object' && !(body instanceof Uint8Array) ? JSON.stringify(body) : body);
  });
}

/** The only event of a stream, or all of the text. */
function jsonIn(text: string): Json {
  const data = /^data: (\{.*)$/m.exec(text)?.[1] ?? text;
  return data === '' ? undefined : JSON.parse(data);
}

/** How a handshake ends: the protocol that was agreed on, or the code of the error. */
export function handshake(origin: string, options: ConnectionOptions): Promise<string> {
  const { port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), ...options });
    socket.on('secureConnect', () => {
      resolve(`${socket.getProtocol()} ${socket.alpnProtocol}`);
      socket.destroy();
    });
    socket.on('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    socket.on('close', () => resolve('closed'));
  });
}
