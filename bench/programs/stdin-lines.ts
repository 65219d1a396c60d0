/** Lines of standard input, until it ends, and the process with it. */
export function onLine(take: (line: string) => void): void {
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
  process.stdin.on('end', () => process.exit(0));
}
