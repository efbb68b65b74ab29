import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { adapterCode, completed, openHost } from "./test-host.ts";

const path = process.env["PATH"];
afterEach(() => void (process.env["PATH"] = path));

const adapter = adapterCode(`
    const child = await ctx.run("tool", []);
    let text = "";
    for await (const piece of child.stdout) text += piece;
    yield { type: "output", stream: "stdout", data: text };
    yield ${completed};`);
const run = [{ binary: "tool" }];
const plugin = { code: adapter, manifest: "permissions: { run: [{ binary: tool }] }" };

test("a granted program is pinned when it is first used, and for every host of the state folder after that", async () => {
  const first = await openHost();
  const { root } = first;
  await mkdir(join(root, "bin"));
  for (const name of ["right", "stolen"]) {
    await writeFile(join(root, name), `#!/bin/sh\necho ${name}`, { mode: 0o755 });
  }
  await symlink(join(root, "right"), join(root, "bin/tool"));
  process.env["PATH"] = `${join(root, "bin")}:${path}`;
  await first.add("acme", plugin, { grant: { run } });
  expect((await first.run("acme")).result).toMatchObject({ outcome: "completed", output: "right\n" });
  const pin = { binary: "tool", path: join(root, "bin/tool"), real: join(root, "right") };
  expect(await first.host.pinned("acme")).toMatchObject([pin]);
  await first.host.close();
  await rm(join(root, "bin/tool"));
  await symlink(join(root, "stolen"), join(root, "bin/tool"));

  const second = await openHost({ root });
  await second.host.registry.register(join(root, "packages/acme"), { grant: { run } });
  const { result, events } = await second.run("acme");
  expect(result.error).toMatchObject({
    code: "permission_denied",
    hint: "bulkhead plugin grant acme run:tool",
    details: { pinned: join(root, "right"), found: join(root, "stolen") },
  });
  expect(events.map(({ event }) => event)).toContainEqual(expect.objectContaining({
    type: "capability",
    decision: "denied",
    target: "tool",
  }));
  await rm(root, { recursive: true, force: true });
});
