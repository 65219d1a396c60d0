/** What the config says of extensions: for all endpoints, and for one. */
import * as z from 'zod';
import { type ExtensionChoices, extensionChoices } from '../wire/extensions.ts';
import * as shape from './shapes.ts';

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta: a prefix of labels, and a name. */
const label = '[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const id = shape.text(
  'the id of an extension, such as com.example/thing',
  new RegExp(`^${label}(?:\\.${label})*/[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`),
);

export const extensionsShape = z.record(id, shape.choice(extensionChoices), {
  error: 'a map of extensions: their ids, each with pass or deny',
});

/** The choices of an endpoint come before those of the file. */
export function withChoices<E extends { readonly extensions?: ExtensionChoices }>(
  endpoint: E,
  file: ExtensionChoices | undefined,
): E {
  return file === undefined ? endpoint : { ...endpoint, extensions: { ...file, ...endpoint.extensions } };
}
