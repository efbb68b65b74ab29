import { signal } from "@preact/signals";
import { durationText } from "./parts.tsx";

/** Rises twice a minute: an age in minutes does not change more often. */
const now = signal(Date.now());
setInterval(() => document.hidden || (now.value = Date.now()), 30_000);

/** How long ago something was, in its largest unit, so that it stays on one line. */
export function Age({ at }: { at: string }) {
  // A new row may be younger than the clock.
  const ms = Math.max(now.value, Date.now()) - Date.parse(at);
  const text = ms < 60_000 ? "just now" : `${durationText(ms).replace(/^(\d+ \w+) .*$/, "$1")} ago`;
  return <time class="age" dateTime={at} title={new Date(at).toLocaleString()}>{text}</time>;
}
