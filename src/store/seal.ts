/** AES-256-GCM with a random nonce; the context is authenticated and not stored. */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import type { KeyedSeal, Seal } from './ports.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Derives the key from a configured secret of any length, so that several replicas can share it. Without a secret, the
 * key is lost with the process. That is right for a single process: its pending calls are lost too.
 */
export function createSeal(secret: string | undefined): Seal {
  return sealWith(
    secret === undefined ? randomBytes(KEY_BYTES) : createHash('sha256').update(`bascule seal\0${secret}`).digest(),
  );
}

/** With a key of its own: what is sealed for one purpose means nothing for another. */
export function createSealFor(purpose: string, secret: string): KeyedSeal {
  const derived = (use: string) => Buffer.from(hkdfSync('sha256', secret, 'bascule', `${purpose} ${use}`, KEY_BYTES));
  return { ...sealWith(derived('key')), keyId: derived('key id').toString('base64url') };
}

/** Seals with the current key. Opens what was sealed with a previous one as well. */
export function openingWith(current: Seal, previous: readonly Seal[]): Seal {
  const all = [current, ...previous];
  return {
    seal: (plain, context) => current.seal(plain, context),
    open: (sealed, context) => {
      for (const seal of all) {
        const plain = seal.open(sealed, context);
        if (plain !== undefined) return plain;
      }
      return undefined;
    },
  };
}

function sealWith(key: Buffer): Seal {
  return {
    seal(plain, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed, 'base64url');
      // Refuse other encodings of the same bytes: a sealed value has one form.
      if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
      try {
        return (
          decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES), undefined, 'utf8') +
          decipher.final('utf8')
        );
      } catch {
        return undefined;
      }
    },
  };
}
