/** Official servers with skills, in memory. */
import { memorySkillFiles, SkillsExtension } from '@modelcontextprotocol/server/ext/skills';
import { McpServerV2, type SdkServerV2, startV2 } from '../harness/sdk-servers.ts';

export function skillFile(name: string, text = ''): string {
  return `---\nname: ${name}\ndescription: How to ${name}.\nmetadata:\n  level: "1"\n---\n\n# ${name}\n\n${text}\n`;
}

/** A skill with a subdirectory, a file that is no text, and a second skill. */
export function files(mark: string): Record<string, string | Uint8Array> {
  return {
    'deploy/SKILL.md': skillFile('deploy', `Of ${mark}. See [steps](references/steps.md) and skill://deploy/SKILL.md.`),
    'deploy/references/steps.md': `Steps of ${mark}: "skill://deploy/SKILL.md" \u00e9\n`,
    'deploy/logo.bin': new Uint8Array([0, 1, 2, 255, mark.length]),
    'review/SKILL.md': skillFile('review'),
  };
}

export async function openLibrary(mark: string, own = files(mark)): Promise<SdkServerV2> {
  const skills = await SkillsExtension.load(memorySkillFiles(own));
  return startV2(() => {
    const server = new McpServerV2({ name: mark, version: '1.0.0' });
    skills.attach(server);
    return server;
  });
}
