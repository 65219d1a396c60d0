/** Ids that name the process which issued them, for what lives in that process alone. */

/** What is sealed begins with another character (session/session-seal.ts). */
const PLAIN = '0';
const MEMBER_END = '.';

/** `random`: unguessable. */
export function memberId(member: string, random: string): string {
  return `${PLAIN}${member}${MEMBER_END}${random}`;
}

/** The process that issued the id. Undefined where the id names none. */
export function memberNamedBy(id: string): string | undefined {
  const end = id.startsWith(PLAIN) ? id.indexOf(MEMBER_END) : -1;
  return end === -1 ? undefined : id.slice(PLAIN.length, end);
}
