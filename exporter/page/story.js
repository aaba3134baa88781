// story.js - a migration in sentences: what it does, why it waits, whether it will finish, why it failed, whether its
// guest is safe, what to do. Pure: from the API's object (and verdict) alone.
import { about, bytes, duration, ms, now, rate, until, words } from './format.js';

export const ferry = (vmim) => vmim.status?.ferry ?? {};
export const state = (vmim) => vmim.status?.migrationState ?? {};
export const isFinal = (vmim) => vmim.status?.phase === 'Succeeded' || vmim.status?.phase === 'Failed';
// Started by somebody else: Ferry gives no order about it, whoever asks.
export const isObserved = (vmim) => ferry(vmim).origin === 'observed';
export const manager = (vmim) => ferry(vmim).managedBy || 'unknown';
export const isMoving = (vmim) => !isFinal(vmim) && ferry(vmim).handedOff !== undefined;
export const isWaiting = (vmim) => !isFinal(vmim) && !isMoving(vmim);
export const isTrouble = (vmim) => !isFinal(vmim) && (ferry(vmim).recovering || ferry(vmim).resolving || ferry(vmim).advice
  || ['stream-stalled', 'recovery', 'internal-error', 'unconfirmed', 'outcome-unproven'].includes(ferry(vmim).pending?.reason));
export const source = (vmim) => state(vmim).sourceNode ?? '';
export const target = (vmim) => state(vmim).targetNode ?? vmim.spec?.addedNodeSelector?.['kubernetes.io/hostname'] ?? '';
// QEMU knows the dirty rate from its second iteration on.
export const dirtyRate = (vmim) => {
  const s = ferry(vmim).sample;
  return !s || (s.iteration <= 1 && s.dirtyRateBytesPerSecond === 0) ? null : s.dirtyRateBytesPerSecond;
};
export const endedAt = (vmim) => ms(state(vmim).endTimestamp) || ms(vmim.status?.phaseTransitionTimestamps?.at(-1)?.phaseTransitionTimestamp);
export const outcome = (vmim) => ferry(vmim).outcome ?? (vmim.status?.phase === 'Succeeded' ? 'succeeded' : vmim.status?.phase === 'Failed' ? 'failed' : '');

// 0 to 1; null: not known.
export function progress(vmim) {
  const sample = ferry(vmim).sample;
  if (vmim.status?.phase === 'Succeeded') return 1;
  if (!sample?.totalBytes) return null;
  return Math.max(0, Math.min(1, 1 - sample.remainingBytes / sample.totalBytes));
}

// One word for a badge, and its tone.
export function badge(vmim) {
  const f = ferry(vmim);
  if (isFinal(vmim)) return [outcome(vmim), { succeeded: 'good', aborted: 'calm' }[outcome(vmim)] ?? 'bad'];
  if (f.recovering && isObserved(vmim)) return ['post-copy broken', 'bad'];
  if (f.recovering) return [['recovery-exhausted', 'unknown'].includes(f.recovery?.state) ? f.recovery.state : 'recovering', 'bad'];
  if (f.pending?.reason === 'stream-stalled') return ['stalled', 'bad'];
  if (f.resolving) return ['resolving', 'warn'];
  if (f.pending?.reason === 'internal-error') return ['frozen', 'bad'];
  if (f.advice) return ['needs help', 'warn'];
  if (state(vmim).abortRequested) return ['aborting', 'warn'];
  return [vmim.status?.phase ?? '', isMoving(vmim) ? 'busy' : 'calm'];
}

const MODES = {
  PreCopy: (s, t) => `runs on ${s} while its memory is copied to ${t}`,
  PostCopy: (s, t) => `runs on ${t} and fetches the rest of its memory from ${s}`,
  Paused: (s, t) => `is paused so that the copy from ${s} to ${t} can complete`,
};

export function doing(vmim) {
  const f = ferry(vmim), s = f.sample;
  if (isWaiting(vmim)) return f.pending ? f.pending.message : 'Waits for its turn.';
  if (f.recovering || f.pending) return f.pending?.message ?? (isObserved(vmim) ? 'Its post-copy is broken; who started it must resume it.' : 'A broken post-copy is being resumed.');
  if (f.resolving) return 'The outcome is being determined from both hosts.';
  if (!s) return `The ${vmim.status?.phase === 'Running' ? 'transfer begins' : 'target prepares'}.`;
  const text = `${bytes(s.remainingBytes)} remaining of ${bytes(s.totalBytes)} at ${rate(s.transferRateBytesPerSecond)}`;
  return s.dirtyRateBytesPerSecond > 0 ? `${text}; the guest writes ${rate(s.dirtyRateBytesPerSecond)}.` : `${text}.`;
}

// Will it finish? [sentence, tone]
export function ending(vmim) {
  const f = ferry(vmim);
  if (isFinal(vmim)) return null;
  if (isWaiting(vmim)) {
    return f.pending?.deadline ? [`Fails if it still waits at ${until(f.pending.deadline)}.`, 'calm'] : ['Begins when its turn comes.', 'calm'];
  }
  if (isObserved(vmim) && f.recovering) return ['Who started it must resume it.', 'bad'];
  if (f.pending?.reason === 'recovery' || f.recovering)
    return [f.recovery?.until ? `Attempts end ${until(f.recovery.until)}; afterwards an operator decides.` : 'An operator must decide.', 'bad'];
  if (f.etaMs !== undefined) {
    const range = f.etaLowMs !== undefined ? ` (${about(f.etaLowMs)} to ${about(f.etaHighMs)})` : '';
    return [`Expected in ${duration(f.etaMs)}${range}${f.etaNote ? `; ${f.etaNote}` : ''}.`, 'calm'];
  }
  if (f.etaNote) return [`${f.etaNote.charAt(0).toUpperCase()}${f.etaNote.slice(1)}.`, 'warn'];
  if (f.forecast?.totalMs !== undefined) return [`Forecast at hand-off: ${duration(f.forecast.totalMs)}${f.forecast.convergesPercent !== undefined ? `, converges with ${f.forecast.convergesPercent} %` : ''}.`, 'calm'];
  return ['Not known yet.', 'calm'];
}

const AT = {
  'running-on-source': (s) => [`It runs on ${s || 'its source'}.`, 'good'],
  'running-on-target': (s, t) => [`It runs on ${t || 'its target'}.`, 'good'],
  'paused-irrecoverable': () => ['No: post-copy broke and a part of its memory is gone. It is paused and must be started anew.', 'bad'],
  'stopped-on-source': (s) => [`It is shut off on ${s}: it ended during the migration.`, 'warn'],
  'stopped-on-target': (s, t) => [`It arrived on ${t} and ended there.`, 'bad'],
  'running-elsewhere': () => ['It runs on a third host: somebody else moved it.', 'warn'],
  lost: () => ['No: it is gone from both hosts.', 'bad'],
  split: () => ['No: it runs on both hosts. Stop one copy at once.', 'bad'],
};

// Is the guest safe? [sentence, tone]
export function safety(vmim) {
  const f = ferry(vmim), s = source(vmim), t = target(vmim), mode = state(vmim).mode;
  if (isFinal(vmim)) return (AT[f.guestAt] ?? (() => ['Not proven: a host was unreachable.', 'bad']))(s, t);
  if (isWaiting(vmim)) return ['Nothing has begun: it runs where it was.', 'good'];
  if (f.pending?.reason === 'outcome-unproven') return ['Not proven where it is. Look at both hosts before you start it anywhere.', 'bad'];
  if (f.recovering) return ['Its memory is split between both hosts, and it may be paused. Nothing is lost while both hosts keep their half: stop or restart neither of them.', 'bad'];
  if (f.resolving) return ['It runs on one host; which one is being determined.', 'warn'];
  if (mode === 'PostCopy') return [`It runs on ${t} and needs both hosts until its memory has arrived.`, 'warn'];
  if (MODES[mode]) return [`It ${MODES[mode](s, t)}; if the migration fails it stays on ${s}.`, 'good'];
  return [`It runs on ${s || 'its source'}.`, 'good'];
}

// Why did it fail? '' when it did not.
export function failure(vmim, verdict) {
  const f = ferry(vmim), v = verdict ?? f.verdict;
  if (!isFinal(vmim) || outcome(vmim) === 'succeeded') return '';
  const reason = state(vmim).failureReason ?? f.error?.text ?? '';
  return v?.cause ? `${words(v.cause)} (${v.plane ? `${words(v.plane)} plane, ` : ''}${v.confidencePercent} % sure)${reason ? `: ${reason}` : ''}` : reason || 'No reason was recorded.';
}

// What Ferry would do if the migration were its own; it does nothing. The command is shown beside it (advice.command).
const observedAdvice = ({ advice: a }) => (a ? [`${a.text.replace(/\.?$/, '.')} ${a.help ?? ''}`.trim()] : []);

// What to do, as sentences.
export function advice(vmim, verdict) {
  const f = ferry(vmim), out = [], v = verdict ?? f.verdict;
  if (isObserved(vmim) && !isFinal(vmim)) out.push(...observedAdvice(f));
  else if (f.recovering && f.recovery?.state === 'recovery-exhausted') out.push('Repair the path between the hosts, then Recover. Resolve only when you have seen on both hosts where the guest is.');
  else if (f.recovering) out.push('Ferry resumes it. Repair the path between the hosts; do not destroy either half.');
  else if (f.pending?.reason === 'outcome-unproven') out.push('Bring the unreachable host back, or look at both hosts and Resolve.');
  else if (f.pending?.reason === 'stream-stalled') out.push('Check the network between the hosts; the message says what Ferry does.');
  else if (isWaiting(vmim) && f.rejections?.length > 0) out.push('See the reasons for each node below; free what is named there, or wait.');
  if (v?.action) out.push(v.action);
  return out;
}

export const age = (vmim) => now() - ms(vmim.metadata.creationTimestamp);
