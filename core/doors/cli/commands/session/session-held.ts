import type { HeldChange, HeldDecision, SessionHeld } from "../../../../../plugin-sdk/held.ts";
import type { HostWorkspaces } from "../../../../sessions/host/state/workspaces.ts";
import type { Invocation } from "../../command.ts";
import { type OpenedSessions, openSessions } from "../../open-sessions.ts";
import { Questions } from "../../questions.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import { safeLine } from "../../render/agent-text.ts";
import { heldHeadline, heldLines, heldText, settleHint } from "../../render/held-lines.ts";
import { createPaint } from "../../render/paint.ts";
import { ambiguousId, findSession } from "../../find-session.ts";
import { plural } from "../../render/quantities.ts";
import { drawingColumns } from "../../show-session.ts";

/** `bulkhead session held [id]`. */
export async function sessionHeld(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { args, terminal, json } = call;
  const { workspaces } = opened;
  if (args[0] === undefined) return await listAll(call, await workspaces.held());
  const session_id = await findHeld(opened, args[0]);
  const decisions = decisionsOf(call);
  for (const decision of decisions) {
    const { settled } = await workspaces.settleHeld(session_id, decision);
    if (!json) await terminal.stdout.write(`${settledLine(decision.action, settled.length)}\n`);
  }
  const held = await heldOf(workspaces, session_id);
  if (json) await terminal.stdout.write(`${JSON.stringify({ session_id, held })}\n`);
  else if (decisions.length === 0 && held.length > 0) await settleHeld(call, { workspaces, session_id, held });
  else if (decisions.length === 0 || held.length > 0) await writeHeld(call, { session_id, held });
  return 0;
}

/** Asks the person at the terminal about held changes; without one, names them and the command that settles them. */
export async function settleHeld(
  call: Invocation,
  { workspaces, session_id, held }: { workspaces: HostWorkspaces; session_id: string; held: readonly HeldChange[] },
): Promise<void> {
  await writeHeld(call, { session_id, held });
  if (Questions.possible(call.terminal)) await askEach(call, { workspaces, session_id, held });
  else await call.terminal.stdout.write(`${settleHint(session_id)}\n`);
}

/** Finds a session by what is held of it, since retention may have taken its events, or else among all. */
async function findHeld({ workspaces, sessions }: OpenedSessions, typed: string): Promise<string> {
  const ids = new Set((await workspaces.held()).map(({ session_id }) => session_id));
  const found = ids.has(typed) ? [typed] : [...ids].filter((id) => id.startsWith(typed));
  if (found.length > 1) throw ambiguousId(typed, found);
  return found[0] ?? (await findSession(sessions, typed)).session_id;
}

/** Returns the changes of a session that still wait for a person's word. */
export async function heldOf(workspaces: Pick<HostWorkspaces, "held">, sessionId: string): Promise<HeldChange[]> {
  return (await workspaces.held()).filter(({ session_id }) => session_id === sessionId).flatMap(({ held }) => held);
}

function decisionsOf({ options }: Invocation): HeldDecision[] {
  const all = (["apply", "drop"] as const).filter((action) => options[`${action}All`] === true);
  if (all.length > 0) return all.map((action) => ({ action }));
  return (["apply", "drop"] as const).flatMap((action) => {
    const paths = options[action];
    return Array.isArray(paths) ? [{ action, paths: paths.map(String) }] : [];
  });
}

async function listAll({ terminal, json }: Invocation, all: readonly SessionHeld[]): Promise<number> {
  if (json) { for (const one of all) await terminal.stdout.write(`${JSON.stringify(one)}\n`); }
  else if (all.length === 0) await terminal.stdout.write("Nothing is held.\n");
  else {
    const paint = createPaint(terminal.colours.stdout);
    const columns = drawingColumns(terminal);
    const lines = all.flatMap(({ session_id, folder, held }) => [
      ` ${paint("bold", shortId(session_id))}  ${paint("dim", safeLine(folder))}`,
      ...heldLines(held, { paint, columns: columns - 3, most: 20 }).map((line) => `   ${line}`),
      `   ${paint("cyan", settleHint(session_id))}`,
    ]);
    await terminal.stdout.write(`${lines.join("\n")}\n`);
  }
  return 0;
}

async function writeHeld(
  { terminal }: Invocation,
  { session_id, held }: { session_id: string; held: readonly HeldChange[] },
): Promise<void> {
  const paint = createPaint(terminal.colours.stdout);
  const lines = held.length === 0
    ? [`Nothing of session ${shortId(session_id)} is held.`]
    : [paint("red", heldHeadline(held.length)), ...heldLines(held, { paint, columns: drawingColumns(terminal) - 1 })];
  await terminal.stdout.write(`${lines.join("\n")}\n`);
}

/** Asks the person about one change after another; those without an answer go on waiting. */
async function askEach(
  { terminal }: Invocation,
  { workspaces, session_id, held }: {
    workspaces: HostWorkspaces;
    session_id: string;
    held: readonly HeldChange[];
  },
): Promise<void> {
  const questions = new Questions(terminal);
  const choices = [
    { word: "apply", value: "apply" as const },
    { word: "drop", value: "drop" as const },
    { word: "later", value: null },
  ];
  const chosen: Record<HeldDecision["action"], string[]> = { apply: [], drop: [] };
  for (const one of held) {
    const action = await questions.choose(`${heldText(one)}\n${one.by}: ${one.why}`, { choices });
    if (action !== null) chosen[action].push(one.path);
  }
  for (const action of ["drop", "apply"] as const) {
    if (chosen[action].length === 0) continue;
    const { settled } = await workspaces.settleHeld(session_id, { action, paths: chosen[action] });
    await terminal.stdout.write(`${settledLine(action, settled.length)}\n`);
  }
}

/** Says which changes were applied, dropped or kept. */
function settledLine(action: HeldDecision["action"], count: number): string {
  return action === "apply" ? `${plural(count, "change")} applied.` : `${plural(count, "change")} dropped.`;
}
