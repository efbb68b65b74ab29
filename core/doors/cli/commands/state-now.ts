import type { SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import { inspectDaemon } from "../../daemon/inspect-daemon.ts";
import { askDaemon } from "../ask-daemon.ts";
import type { Invocation } from "../command.ts";
import { daemonPlace } from "../daemon-place.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint } from "../render/paint.ts";
import { formatAge } from "../render/quantities.ts";
import { shortId } from "../render/short-id.ts";
import type { Cell } from "../render/table.ts";
import { tableText } from "../show-session.ts";

/** Sessions that are listed of each kind. */
const mostShown = 5;
/** How long the daemon is waited for; after it the help is shown. Milliseconds. */
const patienceMs = 1000;

/** Describes the sessions of the daemon here in a few lines, with what to type next; empty where none runs, or it does not answer at once. */
export async function stateNow(call: Pick<Invocation, "terminal" | "configFile" | "stateDir">): Promise<string> {
  try {
    const { stateDir } = await daemonPlace(call);
    const view = await inspectDaemon(stateDir);
    const answer = await askDaemon(view, patienceMs);
    if (answer === null) return "";
    return stateText(answer.running, { call, address: view.record?.address ?? "" });
  } catch {
    return "";
  }
}

/** Returns how many sessions run and wait, as in "2 wait for you, 3 run". */
export function countsText(running: readonly Pick<SessionSummary, "waiting">[]): string {
  const waiting = running.filter((one) => one.waiting.length > 0).length;
  const others = running.length - waiting;
  const words = [
    ...(waiting === 0 ? [] : [`${waiting} ${waiting === 1 ? "waits" : "wait"} for you`]),
    ...(others === 0 ? [] : [`${others} ${others === 1 ? "runs" : "run"}`]),
  ];
  return words.length === 0 ? "no session runs" : words.join(", ");
}

function stateText(
  running: readonly SessionSummary[],
  { call: { terminal }, address }: { call: Pick<Invocation, "terminal">; address: string },
): string {
  const paint = createPaint(terminal.colours.stdout);
  const waiting = running.filter((one) => one.waiting.length > 0);
  const others = running.filter((one) => one.waiting.length === 0);
  const counts = paint(waiting.length > 0 ? "yellow" : "bold", countsText(running));
  const shown = [...waiting.slice(0, mostShown), ...others.slice(0, mostShown)];
  const now = Date.now();
  const left = running.length - shown.length;
  return [
    ` ${counts}   ${paint("dim", address)}`,
    ...(shown.length === 0
      ? []
      : [tableText(shown.map((one) => row(one, now)), { terminal, head: ["session", "agent", "age", ""] })]),
    ...(left === 0 ? [] : [paint("dim", `   and ${left} more: bulkhead session list --state running`)]),
    "",
    ...hints(waiting.length > 0).map(([command, meaning]) => `   ${command.padEnd(44)} ${paint("dim", meaning)}`),
    "",
  ].join("\n");
}

function hints(waits: boolean): [command: string, meaning: string][] {
  return [
    ...(waits ? [["bulkhead session answer <id> <choice>", "answers"] as [string, string]] : []),
    ["bulkhead session events -f", "watches all of them"],
    ["bulkhead console", "opens the page"],
    ["bulkhead --help", "every command"],
  ];
}

function row({ session_id, adapter_id, started_at, waiting: [asked], title }: SessionSummary, now: number): Cell[] {
  return [
    { text: shortId(session_id), tone: "bold" },
    safeLine(adapter_id ?? "none yet"),
    formatAge(asked?.asked_at ?? started_at, now),
    asked === undefined
      ? { text: safeLine(title), tone: "dim" }
      : { text: `asks: ${safeLine(asked.text)}`, tone: "yellow" },
  ];
}
