/** Groups in our own files, of access keys and of users. Rules match them like the groups of tokens. */
import * as z from 'zod';
import { ListFileError } from './list-file.ts';

/** No spaces and no `*`, so that a group is never taken for a pattern. */
const groupName = /^[A-Za-z0-9][A-Za-z0-9._@:/+-]{0,127}$/;
/** More than an organisation gives to one person. */
const MOST_GROUPS = 64;

export const groupsShape = z.array(z.string().regex(groupName)).max(MOST_GROUPS).optional();

/** Each once. Undefined where there are none. Throws a `ListFileError`. */
export function checkedGroups(groups: readonly string[]): string[] | undefined {
  const wrong = groups.find((group) => !groupName.test(group));
  if (wrong !== undefined)
    throw new ListFileError(
      `\`${wrong}\` cannot be a group: a group is up to 128 letters, digits, dots, dashes, underscores and @ : / +`,
    );
  const distinct = [...new Set(groups)];
  if (distinct.length > MOST_GROUPS) throw new ListFileError(`there are more than ${MOST_GROUPS} groups`);
  return distinct.length === 0 ? undefined : distinct;
}

/** For a line of a list. */
export function shownGroups(groups: readonly string[] | undefined): string {
  return groups === undefined ? '' : `  groups: ${groups.join(' ')}`;
}
