/** Records facts of requests for `bascule policy rehearse`, where the config says so. */
import type { Config } from '../config/config.ts';
import type { Counters } from '../observe/counters.ts';
import { RecordingFile } from '../observe/recording-file.ts';
import type { RequestRecorder } from '../policy/authorizer-parts.ts';
import { type RecordingSettings, readByRules, recordedRequest } from '../policy/recorded-request.ts';
import { isSame } from './reload/is-same.ts';
import type { WorkerPlace } from './worker-share.ts';

/** An open file. The next generation takes it over where it is the same. */
export interface Recording {
  readonly settings: RecordingSettings;
  readonly file: RecordingFile;
}

export interface RecordingOptions {
  readonly counters: Counters;
  readonly worker?: WorkerPlace | undefined;
}

export function recordingFor(
  { rehearsal }: Pick<Config, 'rehearsal'>,
  { counters, worker }: RecordingOptions,
  before: Recording | undefined,
): Recording | undefined {
  if (rehearsal === undefined) return undefined;
  if (before !== undefined && isSame(before.settings, rehearsal)) return before;
  const path = worker === undefined ? rehearsal.path : `${rehearsal.path}.worker-${worker.number}`;
  const lost = () => counters.count('rehearsal.lost');
  return { settings: rehearsal, file: new RecordingFile({ ...rehearsal, path, lost }) };
}

export function recorderTo(file: RecordingFile, { policy }: Config, timeOfDay: () => number): RequestRecorder {
  const read = readByRules(policy);
  return (request, decision, rules) =>
    file.write(recordedRequest(request, { time: timeOfDay(), decision, rules }, read));
}
