import type { SessionResult } from "../../../../plugin-sdk/result.ts";
import { safeLine } from "./agent-text.ts";
import type { Paint } from "./paint.ts";
import { formatBytes, formatCount, plural } from "./quantities.ts";
import { shortId } from "../../../ground/log/short-id.ts";
import { fitLine } from "./text-width.ts";

/** Formats what was recorded of a session's calls, and how a replay went. */
export function boxLines(
  { recorded, replay, session_id }: Pick<SessionResult, "recorded" | "replay" | "session_id">,
  { paint, columns }: { paint: Paint; columns: number },
): string[] {
  const lines: string[] = [];
  if (recorded !== undefined) {
    const { calls, bytes, incomplete } = recorded;
    const size = `recorded: ${plural(calls, "call")}, ${formatBytes(bytes)}`;
    lines.push(
      incomplete === undefined
        ? paint("dim", `${size} · bulkhead replay ${shortId(session_id)}`)
        : paint("yellow", fitLine(safeLine(`${size}, incomplete: ${incomplete}`), columns - 4)),
    );
  }
  if (replay !== undefined) {
    const { of, recorded: all, made, served, left, drift, tree } = replay;
    const isFaithful = drift === undefined && left === 0 && tree !== "different";
    const counts = `${formatCount(served)} of ${formatCount(made)} calls served from ${formatCount(all)} recorded`;
    const files = { same: "the files are the same", different: "the files differ", unknown: "the files were not kept" };
    const rest = left === 0 ? [] : [`${formatCount(left)} not made`];
    const text = [`replay of ${safeLine(shortId(of))}: ${counts}`, ...rest, files[tree]].join(" · ");
    lines.push(paint(isFaithful ? "green" : "yellow", fitLine(text, columns - 4)));
    for (const line of drift?.difference.split("\n") ?? []) {
      const tone = line.startsWith("-") ? "red" : line.startsWith("+") ? "green" : "dim";
      lines.push(paint(tone, fitLine(safeLine(line), columns - 4)));
    }
  }
  return lines.map((line) => `  ${line}`);
}
