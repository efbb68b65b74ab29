import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { testPlugin } from "../../../core/kit/conformance/test-plugin.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { recordedAgent } from "../../sessions/host/box/recorded-agent.ts";

beforeEach(async (context) => await needsWall(context, "bubblewrap"));

/** A plugin whose program is a shell, and the record of one of its sessions. */
async function recorded(script: string) {
  const agent = await recordedAgent();
  const { session_id } = await agent.run(script);
  const folder = join(agent.root, "plugin");
  await cp(join(agent.root, "host", "packages", "agent"), folder, { recursive: true });
  const code = join(folder, "mod.js");
  await writeFile(code, (await readFile(code, "utf8")).replace('await ctx.secrets.use("TOKEN")', '"none"'));
  return { agent, folder, wire: join(agent.root, "state", "wire", session_id) };
}

describe("a plugin with a record of its calls", { timeout: 120_000 }, () => {
  test("is tried with its real program, which asks no model", async () => {
    const { agent, folder, wire } = await recorded('ask one; echo hi > made.txt; ask "$(cat made.txt)"');
    expect(agent.model.asked).toHaveLength(2);
    const { rules } = await testPlugin(folder, { wire });
    const of = (id: string) => rules.find(({ rule }) => rule === id);
    expect(of("wire")).toMatchObject({ outcome: "passed", findings: [] });
    expect(of("last-word")).toMatchObject({ outcome: "passed" });
    expect(agent.model.asked).toHaveLength(2);
    const without = (await testPlugin(folder)).rules.find(({ rule }) => rule === "wire");
    expect(without).toMatchObject({ outcome: "skipped", reason: "No record of calls was given: --wire." });
  });

  test("fails where its program makes another call, or one less", async () => {
    const { folder, wire } = await recorded("ask one; ask two");
    const code = join(folder, "mod.js");
    const whole = await readFile(code, "utf8");
    const changed = async (to: string) => {
      await writeFile(code, whole.replace("request.prompt]", `request.prompt.replace("ask two", "${to}")]`));
      const report = await testPlugin(folder, { wire });
      expect(report.passed).toBe(false);
      return report.rules.find(({ rule }) => rule === "wire")!.findings[0]!.message;
    };
    expect(await changed("ask tow")).toContain("DRIFT: call 2 (POST /v1/messages) is not in the record.");
    expect(await changed("true")).toBe("1 of 2 recorded calls were not made.");
  });

  test("needs a folder that is a record with its request", async () => {
    const { folder, wire } = await recorded("ask one");
    await expect(testPlugin(folder, { wire: folder })).rejects.toMatchObject({ code: "invalid_config" });
    const head = join(wire, "head.json");
    const { requested, ...old } = JSON.parse(await readFile(head, "utf8"));
    expect(requested.prompt).toContain("ask one");
    await writeFile(head, JSON.stringify(old));
    await expect(testPlugin(folder, { wire })).rejects.toThrow("it does not hold the request");
  });
});
