import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { ConsoleHost } from "./console-fixture.ts";
import { git } from "./git.ts";

/** Sessions of a host that has something on every screen, by what is special about each. */
export interface FilledHost {
  done: string;
  waiting: string;
  conflict: string;
  held: string;
  talk: string;
  comparison: string;
}

/** Gives a host something on every screen: work to review, requests, a conflict, a crashed agent, a comparison. */
export async function fillHost({ client, workdir, call }: ConsoleHost): Promise<FilledHost> {
  const work = async (prompt: string): Promise<string> => {
    const session = await client.start({ workdir, prompt, workspace: "worktree" }, { adapter: "works" });
    await session.result();
    return session.id;
  };
  const done = await work("Be denied a host");
  const conflict = await work("Meet a conflict");
  const held = await work("Leave a link");
  const tree = (await client.workspaces.list()).find(({ session_id }) => session_id === held)!;
  await symlink("/etc/hosts", join(tree.folder, "out"));
  await client.workspaces.apply(held);
  await git(workdir, "checkout", "-q", "--", ".");
  await writeFile(join(workdir, "src/tally.js"), "export const tally = () => 0;\n");
  await expect(client.workspaces.apply(conflict)).rejects.toMatchObject({ code: "conflict" });
  await git(workdir, "checkout", "-q", "--", ".");
  const crash = await client.start({ workdir, prompt: "Crash", retry: "never" }, { adapter: "crashes" });
  await crash.result();
  const { id: talk } = await client.start({ workdir, prompt: "work, please" }, { adapter: "talks" });
  await call("POST", `/v1/conversations/${talk}/messages`, { text: "And then rest", delivery: "queue" });
  const asking = { workdir, prompt: "Rebuild everything", answer_timeout_ms: 600_000 };
  const { id: waiting } = await client.start(asking, { adapter: "asks" });
  await client.start(asking, { adapter: "asks" });
  const compared = { prompt: "Make tally return a text", workdir, adapters: ["works", "differs"] };
  const { id: comparison } = await call<{ id: string }>("POST", "/v1/comparisons", compared);
  return { done, conflict, held, talk, waiting, comparison };
}
