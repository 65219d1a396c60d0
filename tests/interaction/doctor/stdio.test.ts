/** `doctor` and `check` of processes: faults of a pipe, and the demo server. */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Target } from '../../../src/doctor/visit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { broken, check, complaints, doctor, failures } from './inspect.ts';

const file = fileURLToPath(new URL('./pipe-server.js', import.meta.url));
const pipe = (fault = ''): Target => ({ kind: 'stdio', command: process.execPath, args: [file, fault] });

describe('a fault of a process', verifies('gateway:doctor:fault-named', 'gateway:check:fault-named'), () => {
  it('text on standard output is named', async () => {
    expect(failures(await doctor(pipe('noise')))).toEqual(['end: stdout_noise']);
    expect(broken(await check(pipe('noise')))).toEqual(['legacy transport:stdio:stream-purity must']);
  });

  it('a process that ends by itself is named, with its last words', async () => {
    const reports = await doctor(pipe('exits'));
    expect(failures(reports)).toEqual(['discover: process_ended', 'initialize: process_ended']);
    expect(reports[1]?.detail).toContain('exit code 3; last on stderr: no API key');
  });

  it('a process that does not end with its input is named', async () => {
    expect(failures(await doctor(pipe('stays')))).toEqual(['end: process_stays']);
    expect(broken(await check(pipe('stays')))).toEqual(['legacy transport:stdio:clean-shutdown should']);
  });

  it('a response to a notification is reported', async () => {
    expect(broken(await check(pipe('answers notifications')))).toEqual([
      'legacy protocol:notifications:no-response must',
    ]);
  });

  it('a command that does not exist is named', async () => {
    const reports = await doctor({ kind: 'stdio', command: 'bascule-no-such-command', args: [] });
    expect(failures(reports)).toEqual(['connect: process_ended']);
    expect(reports).toHaveLength(1);
  });
});

describe('a process without a fault', verifies('gateway:doctor:no-false-alarm', 'gateway:check:no-false-alarm'), () => {
  it('is not blamed', async () => {
    expect(failures(await doctor(pipe()))).toEqual([]);
    expect(complaints(await check(pipe()))).toEqual([]);
  });
});
