import { execFile } from "node:child_process";
import { chown, link, lstat, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { loadHostManifest } from "../../core/packages/manifest/find-host-manifest.ts";
import { codeOf, makeBroker } from "../walls/broker/broker-fixture.ts";
import { adapterCode, completed, openHost, ownChildren, until, writePlugin } from "../sessions/host/test-host.ts";

/** An adapter that reads or writes the path in its option, and says how that ended. */
const toucher = {
  code: adapterCode(`
    const { act, path } = request.params;
    let said = "done";
    try {
      if (act === "read") await ctx.fs.readText(path);
      else await ctx.fs.writeText(path, "changed");
    } catch (error) {
      said = error.code;
    }
    yield { type: "progress", message: said };
    yield ${completed};`),
  manifest: `permissions: { read: ["/", workdir, data], write: ["/", workdir, data] }
config: { type: object, properties: { act: { type: string }, path: { type: string } } }`,
};
const grant = { read: ["/", "workdir", "data"], write: ["/", "workdir", "data"] };

test("G1 the process around a plugin has nothing of the host's environment", async () => {
  const { host, add, workdir } = await openHost();
  await add("acme", { code: adapterCode("await ctx.sleep(60_000);") });
  process.env["HOSTILE_TEST_SECRET"] = "do-not-inherit";
  try {
    const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
      adapter: "acme",
      artifacts: "none",
    });
    await until(async () => (await ownChildren()).some(({ command }) => command.includes("warden")));
    const wardens = (await ownChildren()).filter(({ command }) => command.includes("warden"));
    for (const { pid } of wardens) {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8");
      expect(environment).not.toContain("do-not-inherit");
      expect(environment).not.toContain("PATH=");
    }
    await session.interrupt();
  } finally {
    delete process.env["HOSTILE_TEST_SECRET"];
  }
});

test("G8 a linked file of another user is not read", async () => {
  const { broker, root, workdir } = await makeBroker({ permissions: { read: ["workdir"] } });
  const theirs = join(root, "theirs");
  await writeFile(theirs, "another's");
  const other = (process.getuid?.() ?? 0) + 1;
  const given = await chown(theirs, other, other).then(() => true, () => false);
  if (!given) {
    // Without the rights to make one, a foreign file of the system serves; most systems refuse even the link to it.
    const linked = await link("/etc/passwd", join(workdir, "twin")).then(() => true, () => false);
    if (linked) expect(await codeOf(broker.call("fs_read_text", { path: "twin" }))).toBe("permission_denied");
    return;
  }
  await link(theirs, join(workdir, "twin"));
  expect(await codeOf(broker.call("fs_read_text", { path: "twin" }))).toBe("permission_denied");
});

test(
  "G10 the host manifest, the state and the packages of plugins stay as they are while everything is granted",
  async () => {
    const base = await openHost();
    const file = join(base.root, "bulkhead.yaml");
    const text = `bulkhead: 1
plugins:
  acme: { enabled: true, source: ./packages/acme, grant: ${JSON.stringify(grant)} }
  other: { enabled: true, source: ./packages/other }
`;
    await writeFile(file, text);
    const acme = await writePlugin(join(base.root, "packages", "acme"), "acme", toucher);
    const other = await writePlugin(join(base.root, "packages", "other"), "other", {
      code: adapterCode(`yield ${completed};`),
    });
    const manifest = await loadHostManifest({ config: file, from: base.root, env: {} });
    // Two hosts of one test share their folders, as after a restart.
    const { run, stateDir } = await openHost({ root: base.root, ...(manifest ? { manifest } : {}) });
    await writeFile(join(stateDir, "token"), "t");
    const say = async (act: string, path: string) => {
      const { events } = await run("acme", { params: { act, path } });
      return events.flatMap(({ event }) => (event.type === "progress" ? [event.message] : []))[0];
    };
    for (const path of [file, join(stateDir, "token"), join(stateDir, "host-2", "journal.db")]) {
      expect([path, await say("read", path)]).toEqual([path, "permission_denied"]);
      expect([path, await say("write", path)]).toEqual([path, "permission_denied"]);
    }
    for (const path of [join(other, "plugin.yaml"), join(acme, "mod.js"), join(acme, "new.js")]) {
      expect([path, await say("write", path)]).toEqual([path, "permission_denied"]);
    }
    // A manifest that is not there yet would be the next host's.
    expect(await say("write", join(base.workdir, "bulkhead.yaml"))).toBe("permission_denied");
    expect(await say("read", join(other, "plugin.yaml"))).toBe("done");
    expect(await say("write", join(base.workdir, "plain.txt"))).toBe("done");
    expect(await readFile(file, "utf8")).toBe(text);
  },
  30_000,
);

test("G11 a folder of settings is closed for every tool that some plugin runs", async () => {
  const { add, run } = await openHost();
  await add("acme", toucher, { grant });
  await add("tool", {
    code: adapterCode(`yield ${completed};`),
    manifest: `permissions: { run: [{ binary: some-agent }], read: ["config:other-agent"] }`,
  });
  for (const path of [".some-agent/settings.json", "sub/.other-agent/hooks", ".Some-Agent/x"]) {
    const { events } = await run("acme", { params: { act: "write", path } });
    expect(events.map(({ event }) => event)).toContainEqual(expect.objectContaining({ message: "permission_denied" }));
  }
}, 30_000);

test("G9 a device is not opened even where its folder is granted by name", async () => {
  const { broker, root, workdir } = await makeBroker({
    permissions: { read: ["workdir", "/dev"], write: ["workdir", "/dev"] },
  });
  await mkdir(join(root, "x"));
  // Making a device needs rights that a test may not have; a plain file then stands for the rest of the way.
  await new Promise((resolve) => execFile("mknod", [join(workdir, "zero"), "c", "1", "5"], resolve));
  const made = await lstat(join(workdir, "zero")).then((info) => info.isCharacterDevice(), () => false);
  expect(await codeOf(broker.call("fs_read_text", { path: made ? "zero" : "/dev/zero" })))
    .toBe(made ? "io_error" : "permission_denied");
  expect(await codeOf(broker.call("fs_read_text", { path: "/dev/zero" }))).toBe("permission_denied");
  expect(await codeOf(broker.call("fs_write_text", { path: "/dev/full", text: "x" }))).toBe("permission_denied");
});
