import { execFileSync } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { NewMessage, RewindReport, RewindRequest } from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { adapterCode, openHost, type TestHost, until } from "./test-host.ts";

/** Each turn writes `<turn>.txt` and adds a line to `all.txt`. */
export const writes = adapterCode(`    for await (const turn of ctx.turns) {
      const all = await ctx.fs.readText("all.txt").catch(() => "");
      await ctx.fs.writeText("all.txt", all + turn.number + "\\n");
      await ctx.fs.writeText(turn.number + ".txt", turn.prompt);
      if (turn.prompt.endsWith("wait")) await ctx.sleep(1e8);
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

/** Runs git in a folder. */
export function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  return execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", cwd, ...args], { env })
    .toString();
}

/** A conversation of three turns, in one session or, without `keep_ms`, in three. */
export async function talked(request: Partial<SessionRequest> = {}): Promise<TestHost & { id: string }> {
  const made = await openHost();
  const { host, workdir } = made;
  git(workdir, "init", "-q");
  await writeFile(join(workdir, "mine.txt"), "mine\n");
  git(workdir, "add", ".");
  git(workdir, "commit", "-qm", "first");
  await made.add("writes", {
    code: writes,
    manifest: "accepts: [turns]\npermissions:\n  write: [workdir]\n  read: [workdir]",
  }, { grant: { write: ["workdir"], read: ["workdir"] } });
  const asked = { workdir, prompt: "one", checkpoints: true, ...request };
  const session = await host.runSession(asked, { adapter: "writes" });
  for (const text of ["two", "three"]) await said(made, session.id, text);
  await resting(made, session.id);
  return { ...made, id: session.id };
}

/** Says something once the conversation rests. @returns the session that has it */
export async function said({ host }: TestHost, id: string, text: string): Promise<string> {
  await resting({ host }, id);
  const content: NewMessage["content"] = [{ type: "text", text }];
  return (await host.sessions.conversations.say(id, { content })).session_id;
}

/** Waits until no turn runs and no message waits. */
export async function resting({ host }: Pick<TestHost, "host">, id: string): Promise<void> {
  await until(async () => {
    const { state, pending } = await host.sessions.conversations.get(id);
    return state !== "working" && pending.length === 0;
  });
}

/** Names in a folder, without the repository. */
export async function filesOf(workdir: string): Promise<string[]> {
  return (await readdir(workdir)).filter((name) => name !== ".git").sort();
}

/** Takes files of a conversation back. */
export function back({ host }: Pick<TestHost, "host">, id: string, request: RewindRequest): Promise<RewindReport> {
  return host.sessions.conversations.rewind(id, request);
}

/** Reads all events of a session that has ended. */
export async function eventsOf({ host }: Pick<TestHost, "host">, id: string): Promise<Envelope["event"][]> {
  const events: Envelope["event"][] = [];
  for await (const { event } of (await host.sessions.open(id)).events()) events.push(event);
  return events;
}
