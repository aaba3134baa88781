// format.js - numbers with units, times and durations as text. Pure, but for the clock.

// The appliance's clock: a browser's own may be wrong by minutes.
let skewMs = 0;
export function setServerTime(header) {
  const at = Date.parse(header ?? '');
  if (!Number.isNaN(at) && Math.abs(at - Date.now() - skewMs) > 2000) skewMs = at - Date.now();
}
export const now = () => Date.now() + skewMs;

export const ms = (time) => (typeof time === 'number' ? time : Date.parse(time ?? '')) || 0;

const short = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(value % 1 < 0.05 ? 0 : 1)
  : value.toFixed(value % 1 < 0.05 ? 0 : 1));

export function bytes(n) {
  if (n === null || n === undefined || Number.isNaN(Number(n))) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = Number(n), i = 0;
  while (value >= 1024 && i < units.length - 1) { value /= 1024; i++; }
  return `${i === 0 ? value.toFixed(0) : short(value)} ${units[i]}`;
}
export const rate = (n) => (n === null || n === undefined ? '–' : `${bytes(n)}/s`);
export const kib = (n) => bytes(Number(n) * 1024);
// "16777216Ki", as Kubernetes writes memory.
export const quantity = (text) => Number.parseInt(text ?? '0', 10) * (/Ki$/.test(text ?? '') ? 1024 : 1);

// 340 ms, 4.2 s, 3 min 20 s, 2 h 5 min, 3 d 4 h
export function duration(value) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return '–';
  const n = Math.max(0, Number(value)), s = Math.round(n / 1000);
  if (n < 1000) return `${Math.round(n)} ms`;
  if (n < 10000) return `${(n / 1000).toFixed(1)} s`;
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 ? ` ${s % 60} s` : ''}`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${Math.floor(s % 3600 / 60) ? ` ${Math.floor(s % 3600 / 60)} min` : ''}`;
  return `${Math.floor(s / 86400)} d${Math.floor(s % 86400 / 3600) ? ` ${Math.floor(s % 86400 / 3600)} h` : ''}`;
}
// The same without the small part: for what is only known roughly.
export const about = (value) => duration(value).replace(/^(\d+ (min|h|d)) .*/, '$1');

export const ago = (time) => (ms(time) === 0 ? '–' : `${about(now() - ms(time))} ago`);
const two = (n) => String(n).padStart(2, '0');
export function clock(time) {
  if (ms(time) === 0) return '–';
  const d = new Date(ms(time));
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}
export function dateTime(time) {
  if (ms(time) === 0) return '–';
  const d = new Date(ms(time));
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(time)}`;
}
// Of today the time only.
export const when = (time) => (new Date(ms(time)).toDateString() === new Date(now()).toDateString() ? clock(time) : dateTime(time));
// When in the future: "14:03 (in 12 min)".
export const until = (time) => (ms(time) === 0 ? '–' : `${when(time)} (${ms(time) > now() ? `in ${about(ms(time) - now())}` : 'passed'})`);

// "slot-source" -> "slot source"; "kind-of" texts are shown as the API writes them otherwise.
export const words = (text) => String(text ?? '').replace(/[-_]/g, ' ');
