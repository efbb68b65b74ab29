import { expect, test } from "vitest";
import type { HostManifest } from "bulkhead";
import { parseHostManifest } from "bulkhead";
import { adapterCode, openHost, until } from "./test-host.ts";

/** Starts a program of 60 MiB in its first turn, which lives on between the turns. */
const heavy = adapterCode(`
    let child = null;
    for await (const turn of ctx.turns) {
      if (child === null) {
        child = await ctx.run("/bin/bash", ["-c", "x=$(head -c 60000000 /dev/zero | tr '\\\\0' a); echo ready; sleep 100; true"]);
        await child.stdout[Symbol.asyncIterator]().next();
      }
      yield { type: "output", stream: "stdout", data: turn.number + "" };
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

test("the longest kept of programs that have too much memory together ends, in order", async () => {
  const manifest: HostManifest = await parseHostManifest("bulkhead: 1\nplugins: {}\nlimits: { kept_mb: 90 }\n", {
    file: "/nowhere/bulkhead.yaml",
  });
  const made = await openHost({ manifest });
  await made.add("heavy", {
    code: heavy,
    manifest: `accepts: [turns]\npermissions:\n  run: [{ binary: /bin/bash, args: ["-c {*}"] }]`,
  }, { grant: { run: [{ binary: "/bin/bash", args: ["-c {*}"] }] } });
  const { host, workdir } = made;
  const { conversations } = host.sessions;
  const ids: string[] = [];
  for (const prompt of ["first", "second"]) {
    const { id } = await host.runSession({ workdir, prompt, keep_ms: 600_000 }, {
      adapter: "heavy",
      artifacts: "none",
    });
    await until(async () => (await conversations.get(id)).state === "kept");
    ids.push(id);
  }
  await until(async () => (await conversations.get(ids[0]!)).state === "ended");
  expect(await (await host.sessions.open(ids[0]!)).result()).toMatchObject({ stop_reason: "end_turn" });
  expect((await conversations.get(ids[1]!)).state).toBe("kept");
}, 60_000);
