import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { greeterPackage, newOperator } from "./operator.ts";

const asks = ["read: [workdir]"];
const big = { "data.bin": new Uint8Array(2_000_000).map((_, index) => (index * 7919) % 251) };

it("I19: whoever is killed at any moment of an update leaves the old version or the new one, whole", async () => {
  const operator = await newOperator();
  await operator.write("one.tgz", greeterPackage({ permissions: asks }));
  await operator.bulkhead("plugin", "add", "./one.tgz", "--yes");
  let version = "1.0.0";
  let longest = 400;
  for (let round = 1; round <= 8; round++) {
    const next = `1.${round}.0`;
    // Each asks for one thing more, so that both files change.
    const permissions = [`read: [workdir, ${Array.from({ length: round }, (_, index) => `/x${index}`).join(", ")}]`];
    await operator.write("next.tgz", greeterPackage({ version: next, permissions, files: big }));
    const started = performance.now();
    const { pid, ended } = operator.spawned(["plugin", "add", "./next.tgz", "--yes"]);
    // Once in a while it is let go on, which shows how long one takes.
    const spared = round % 4 === 1;
    if (!spared) {
      await wait(longest * (0.35 + (0.65 * ((round * 37) % 100)) / 100));
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It was done already.
      }
    }
    const { code, err } = await ended;
    if (spared) {
      expect({ code, err }).toEqual({ code: 0, err: "" });
      longest = performance.now() - started;
    }
    const { greeter } = (await operator.lock()).plugins;
    expect([version, next]).toContain(greeter!.version);
    version = greeter!.version;
    // Reads the manifest and the lock, and holds every installed byte against it.
    const checked = await operator.bulkhead("config", "check", "--json");
    expect(checked).toMatchObject({ code: 0, err: "", out: expect.stringContaining('"enabled":["greeter"]') });
  }
  await operator.write("last.tgz", greeterPackage({ version: "2.0.0", permissions: asks }));
  expect(await operator.bulkhead("plugin", "add", "./last.tgz", "--yes")).toMatchObject({ code: 0 });
  const [own = ""] = await readdir(join(operator.data, "installed"));
  expect(await readdir(join(operator.data, "installed", own, ".staging"))).toEqual([]);
  expect((await readdir(join(operator.data, "installed", own, "greeter"))).length).toBeLessThanOrEqual(4);
}, 400_000);

it("I19: two that install at once both do, and none loses what the other wrote", async () => {
  const operator = await newOperator();
  const ids = ["welcomer", "saluter", "hailing", "waver-of-hands"];
  for (const id of ids) await operator.write(`${id}.tgz`, greeterPackage({ id, permissions: asks, files: big }));
  const all = await Promise.all(ids.map((id) => operator.spawned(["plugin", "add", `./${id}.tgz`, "--yes"]).ended));
  expect(all.map(({ code, err }) => ({ code, err }))).toEqual(ids.map(() => ({ code: 0, err: "" })));
  expect(Object.keys((await operator.lock()).plugins).sort()).toEqual([...ids].sort());
  const text = await operator.manifest();
  for (const id of ids) expect(text).toContain(`  ${id}:\n    grant:\n      read:\n        - workdir\n`);
  expect(await operator.bulkhead("plugin", "check")).toMatchObject({ code: 0 });
}, 400_000);

it("I19: two that install the same at once leave it whole", async () => {
  const operator = await newOperator();
  await operator.write("a.tgz", greeterPackage({ files: big }));
  const all = await Promise.all([1, 2, 3].map(() => operator.spawned(["plugin", "add", "./a.tgz"]).ended));
  expect(all.map(({ code, err }) => ({ code, err }))).toEqual([1, 2, 3].map(() => ({ code: 0, err: "" })));
  expect(await operator.bulkhead("plugin", "check", "greeter")).toMatchObject({ code: 0 });
}, 400_000);

it("goes on after one that was killed while it held the lock", async () => {
  const operator = await newOperator();
  await operator.write("a.tgz", greeterPackage());
  await operator.bulkhead("plugin", "add", "./a.tgz");
  const [own = ""] = await readdir(join(operator.data, "installed"));
  await writeFile(join(operator.data, "installed", own, "lock"), JSON.stringify({ pid: 2 ** 22 + 1, start: null }));
  expect(await operator.bulkhead("plugin", "disable", "greeter")).toMatchObject({ code: 0 });
});
