import { shortId, shortIds } from "../../../ground/log/short-id.ts";
import { safeLine } from "./agent-text.ts";
import type { Paint, Tone } from "./paint.ts";
import { clockTime, localTime, withLocalTimes } from "./quantities.ts";

const tones: Readonly<Record<string, Tone>> = { debug: "dim", info: "plain", warn: "yellow", error: "red" };

/** Formats a line of the daemon's log for people; one that is not JSON stays as it is. */
export function logText(line: string, paint: Paint): string {
  const record = parse(line);
  if (record === null) return safeLine(line);
  const { level, time, message, plugin_id, session_id } = record;
  const about = [
    ...(typeof plugin_id === "string" ? [safeLine(plugin_id)] : []),
    ...(typeof session_id === "string" ? [shortId(session_id)] : []),
  ];
  const word = typeof level === "string" ? level : "";
  const clock = typeof time !== "string" ? "" : Number.isNaN(Date.parse(time)) ? time : localSecond(time);
  const text = typeof message === "string" ? message : "";
  return [
    paint("dim", safeLine(clock)),
    paint(tones[word] ?? "plain", safeLine(word).padEnd(5)),
    safeLine(shortIds(withLocalTimes(text))),
    ...(about.length === 0 ? [] : [paint("dim", about.join(" "))]),
  ].join(" ");
}

/** A line of a log is told to the second. */
function localSecond(time: string): string {
  return `${localTime(time)}${clockTime(time).slice(5)}`;
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
