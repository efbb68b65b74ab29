import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testPlugin } from "../../../core/kit/conformance/test-plugin.ts";
import { type MockModel, startMockModel } from "../mock-model/mock-model.ts";
import { agents as allAgents } from "./agents.ts";
import { byKey } from "./by-key.ts";
import { type Home, openHome, openPlace, processesOf } from "./place.ts";
import { killQuietly, openHost, patienceMs, prompt } from "./run-case.ts";

const ids = ["codex", "gemini-cli"];
const named = process.env["AGENTS"]?.split(",") ?? ids;
const agents = allAgents.filter(({ id }) => ids.includes(id) && named.includes(id));

let home: Home;
let models: MockModel;
beforeAll(async () => {
  home = await openHome({ more: false });
  models = await startMockModel();
  for (const agent of agents) await agent.settle(home.path);
}, 60_000);
afterAll(async () => {
  await models.close();
  await home.remove();
}, 60_000);

describe.each(agents)("the kit with $id", (agent) => {
  test("tries the real program without its model", { timeout: 2 * patienceMs }, async () => {
    const place = await openPlace();
    // The kit's folder has no files either: some agents list them.
    const git = (...args: string[]) => execFileSync("git", ["-C", place.workdir, ...args]);
    git("rm", "-q", "README.md");
    git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "empty");
    const model = models.open("text", { workdir: place.workdir, offersTools: agent.tools });
    const prepared = await byKey(agent).prepare({ name: "text", model, place });
    const { host, plugin } = await openHost(prepared, { place, model });
    try {
      const request = {
        workdir: place.workdir,
        prompt,
        ...prepared.request,
        workspace: "worktree",
        record: "wire",
      } as const;
      const { session_id, recorded } = await (await host.runSession(request, { adapter: plugin.id })).result();
      expect(recorded?.incomplete).toBeUndefined();
      const asked = model.requests.length;
      await host.close();
      const { rules } = await testPlugin(prepared.folder, { wire: join(place.root, "state", "wire", session_id) });
      const of = (id: string) => rules.find(({ rule }) => rule === id);
      expect(of("wire")).toMatchObject({ outcome: "passed", findings: [] });
      expect(rules.flatMap(({ findings }) => findings).filter(({ session }) => session === "wire")).toEqual([]);
      expect(model.requests.length - asked, "requests to the model").toBe(0);
    } finally {
      await host.close();
      for (const { pid } of await processesOf(place)) killQuietly(pid);
      await rm(place.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    }
  });
});
