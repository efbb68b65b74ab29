/** Formats a duration for people: `480 ms`, `2.1 s`, `3 min 20 s`, `2 h 5 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return pair({ large: seconds, of: 60, names: ["min", "s"] });
  return pair({ large: Math.round(seconds / 60), of: 60, names: ["h", "min"] });
}

/** Formats an age as a person says it, in one unit: `20 s`, `6 min`, `5 h`, `9 d`. */
function roughly(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  if (minutes < 60) return `${Math.floor(minutes)} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} d`;
}

/** Formats how long ago a time was; a future one comes from a clock that was ahead, or was set back. */
export function formatAge(timestamp: string, now: number): string {
  const ms = now - Date.parse(timestamp);
  return ms < -skewMs ? `${formatDuration(-ms)} ahead of the clock` : roughly(Math.max(0, ms));
}

/** Clocks of two machines differ by so much without a word. Milliseconds. */
const skewMs = 60_000;

/** Formats a size for people: `3 B`, `1.5 KiB`, `2 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${short(bytes / 1024)} KiB`;
  if (bytes < 1024 ** 3) return `${short(bytes / 1024 ** 2)} MiB`;
  return `${short(bytes / 1024 ** 3)} GiB`;
}

/** Formats a number with separators of thousands: `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** Formats a running time as a clock has it: `0:42`, `12:03`, `1:02:03`. */
export function formatTimer(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const [first, ...rest] = parts[0] === 0 ? parts.slice(1) : parts;
  return [String(first), ...rest.map((part) => String(part).padStart(2, "0"))].join(":");
}

/** Formats a large count in a few characters: `940`, `23 k`, `1.2 M`. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 999_500 ? `${short(count / 1000)} k` : `${short(count / 1_000_000)} M`;
}

/** Formats a point in time as the time of day here: `14:03:59`. */
export function clockTime(timestamp: string): string {
  const time = new Date(timestamp);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** Formats a point in time as the day and time here: `2026-11-27 14:03`. */
export function localTime(timestamp: string): string {
  const time = new Date(timestamp);
  const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${day.join("-")} ${clockTime(timestamp).slice(0, 5)}`;
}

/** Writes the points in time of a sentence, which a host gives in UTC, as the day and time here. */
export function withLocalTimes(sentence: string): string {
  return sentence.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z/g, localTime);
}

/** Formats an amount of files: `312 MiB in 4 files`. */
export function copiedText({ files, bytes }: { files: number; bytes: number }): string {
  return `${formatBytes(bytes)} in ${plural(files, "file")}`;
}

/** Formats the lines that a change adds and takes away: `+12 −2`. */
export function lineCounts({ added, removed }: { added: number; removed: number }): string {
  return `+${formatCount(added)} −${formatCount(removed)}`;
}

/** Formats a count with its noun: `1 event`, `2 events`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function pair(value: { large: number; of: number; names: [string, string] }): string {
  const rest = value.large % value.of;
  const whole = `${Math.floor(value.large / value.of)} ${value.names[0]}`;
  return rest === 0 ? whole : `${whole} ${rest} ${value.names[1]}`;
}

function short(value: number): string {
  return value >= 10 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1);
}
