import type { SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import { inspectDaemon } from "../../daemon/inspect-daemon.ts";
import { askDaemon } from "../ask-daemon.ts";
import type { Invocation } from "../command.ts";
import { daemonPlace } from "../daemon-place.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint } from "../render/paint.ts";
import { formatAge } from "../render/quantities.ts";
import { shortId } from "../../../ground/log/short-id.ts";
import type { Cell } from "../render/table.ts";
import { fitLine } from "../render/text-width.ts";
import { drawingColumns, tableText } from "../show-session.ts";
import { quarantineText } from "./status.ts";

/** Sessions that are listed of each kind. */
const mostShown = 5;
/** How long the daemon is waited for; after it the help is shown. Milliseconds. */
const patienceMs = 1000;

/**
 * Describes in a few lines what runs and waits here, with what to type next; empty where a daemon that runs does not
 * answer at once.
 */
export async function stateNow(call: Pick<Invocation, "terminal" | "configFile" | "stateDir">): Promise<string> {
  try {
    const { stateDir, manifest } = await daemonPlace(call);
    const view = await inspectDaemon(stateDir);
    const answer = await askDaemon(view, patienceMs);
    if (answer !== null) return stateText(answer, { call, address: view.record?.address ?? "" });
    if (view.state !== "stopped" && view.state !== "killed") return "";
    return withoutDaemon(Object.keys(manifest?.plugins ?? {}), call);
  } catch {
    return "";
  }
}

/** Tells a person what there is without a daemon: the agents that are enabled here, and how to begin. */
function withoutDaemon(enabled: readonly string[], { terminal }: Pick<Invocation, "terminal">): string {
  const paint = createPaint(terminal.colours.stdout);
  const [first] = enabled;
  const head = first === undefined ? "no agent is enabled here" : `enabled here: ${enabled.map(safeLine).join(", ")}`;
  const next: Hint[] = [
    first === undefined
      ? ["bulkhead setup", "finds the agents of this machine"]
      : [`bulkhead run ${first} "…"`, "runs one session"],
    ...(first === undefined ? [["bulkhead demo", "shows it at work in seconds"] as Hint] : []),
    ["bulkhead start", "starts the daemon: sessions outlive the terminal"],
    ["bulkhead session list", "what ran before"],
    ["bulkhead --help", "every command"],
  ];
  return [
    ` ${paint("bold", fitLine(head, drawingColumns(terminal) - 24))}   ${paint("dim", "no daemon runs")}`,
    "",
    hintRows(next, terminal),
    "",
  ].join("\n");
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
  { running, quarantined }: { running: readonly SessionSummary[]; quarantined: readonly string[] },
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
    ...(quarantined.length === 0 ? [] : [` ${paint("red", quarantineText(quarantined))}`]),
    "",
    hintRows(hints(waiting.length > 0), terminal),
    "",
  ].join("\n");
}

/** A command to type next, and what it does. */
type Hint = readonly [command: string, meaning: string];

function hintRows(rows: readonly Hint[], terminal: Invocation["terminal"]): string {
  const cells = rows.map(([command, text]): Cell[] => [command, { text, tone: "dim" }]);
  return tableText(cells, { terminal, head: [], wraps: true });
}

function hints(waits: boolean): Hint[] {
  return [
    ...(waits ? [["bulkhead session answer <id> <choice>", "answers"] as Hint] : []),
    ["bulkhead session watch", "watches all of them"],
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
