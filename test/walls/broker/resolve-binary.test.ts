import { chmod, mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isUpgrade, withoutVersions } from "../../../core/walls/broker/is-upgrade.ts";
import { newPin } from "../../../core/walls/broker/resolve-binary.ts";
import { openPins } from "../../../core/sessions/host/state/pin-store.ts";
import { capabilities, errorOf, makeBroker, readAll } from "./broker-fixture.ts";

let root: string;
const path = process.env["PATH"];

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-pins-")));
  for (const name of ["early", "late"]) await mkdir(join(root, name));
  process.env["PATH"] = `${join(root, "early")}:${join(root, "late")}:${path}`;
});

afterEach(async () => {
  process.env["PATH"] = path;
  await rm(root, { recursive: true, force: true });
});

async function program(file: string, says: string): Promise<string> {
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho ${says}`, { mode: 0o755 });
  return file;
}

const pins = () => openPins(join(root, "pins")).of("acme");
const place = { file: "/etc/bulkhead.yaml", line: 7 };

/** A broker for `acme`, which may run that program. */
function brokerFor(binary: string, changes: Parameters<typeof makeBroker>[0] = {}) {
  return makeBroker({ permissions: { run: [{ binary }] }, pins: pins(), grantPlace: () => place, ...changes });
}

type Made = Awaited<ReturnType<typeof makeBroker>>;

async function says({ broker }: Made, binary: string): Promise<string> {
  const { stdout } = await broker.call("run", { binary, args: [], options: {} }) as { stdout: number };
  return (await readAll(broker, stdout)).trim();
}

const refused = ({ broker }: Made, binary: string) => errorOf(broker.call("run", { binary, args: [], options: {} }));

describe("resolveBinary", () => {
  test("G26 starts what it found first, whatever stands earlier on PATH later", async () => {
    const real = await program(join(root, "late/tool"), "right");
    expect(await says(await brokerFor("tool"), "tool")).toBe("right");
    await program(join(root, "early/tool"), "stolen");
    expect(await says(await brokerFor("tool"), "tool")).toBe("right");
    expect(await pins().read("tool")).toMatchObject({ binary: "tool", path: real, real, owner: process.getuid?.() });
  });

  test("says where a program stands that is on PATH and not started from there", async () => {
    const workdir = join(root, "early");
    await program(join(workdir, "own"), "own");
    const inside = await refused(await brokerFor("own", { workdir }), "own");
    expect(inside).toMatchObject({ code: "binary_missing", details: { binary: "own" } });
    expect(inside.message).toBe(`Cannot run "own": "${join(workdir, "own")}" lies in the working directory.`);
    await program(join(root, "late/made"), "made");
    const permissions = { run: [{ binary: "made" }], write: [join(root, "late")], read: [join(root, "late")] };
    const writable = await refused(await brokerFor("made", { permissions }), "made");
    expect(writable.message).toBe(`Cannot run "made": "${join(root, "late/made")}" lies where the session may write.`);
    expect((await refused(await brokerFor("none"), "none")).message).toContain("no such program was found");
  });

  test("G26 refuses a link that leads elsewhere, and says what changed, which line allows it and how to accept", async () => {
    const first = await program(join(root, "opt/tool/run"), "right");
    const other = await program(join(root, "opt/other/run"), "stolen");
    await symlink(first, join(root, "early/tool"));
    expect(await says(await brokerFor("tool"), "tool")).toBe("right");
    await rm(join(root, "early/tool"));
    await symlink(other, join(root, "early/tool"));
    const made = await brokerFor("tool");
    const error = await refused(made, "tool");
    expect(error).toMatchObject({
      code: "permission_denied",
      hint: "bulkhead plugin grant acme run:tool",
      details: { target: "tool", pinned: first, found: other, grant_file: place.file, grant_line: place.line },
    });
    expect(error.message).toContain(`it was ${join(root, "early/tool")} (${first}) when it was pinned, and is`);
    expect(capabilities(made.events).at(-1)).toMatchObject({ decision: "denied", target: "tool", grant_line: 7 });
    await pins().write(await newPin("tool", { workdir: "/nowhere", writable: [], refuse: () => new Error() }));
    expect(await says(await brokerFor("tool"), "tool")).toBe("stolen");
  });

  test("G26 pins a program that is granted by its path, too", async () => {
    const first = await program(join(root, "opt/a"), "right");
    const link = join(root, "opt/link");
    await symlink(first, link);
    expect(await says(await brokerFor(link), link)).toBe("right");
    await rm(link);
    await symlink(await program(join(root, "opt/b"), "stolen"), link);
    expect((await refused(await brokerFor(link), link)).details).toMatchObject({ pinned: first, grant_line: 7 });
  });

  test("does not take another of the name for one that is gone; none at all is missing", async () => {
    const first = await program(join(root, "early/tool"), "right");
    await says(await brokerFor("tool"), "tool");
    await rm(first);
    expect((await refused(await brokerFor("tool"), "tool")).code).toBe("binary_missing");
    const other = await program(join(root, "late/tool"), "other");
    const error = await refused(await brokerFor("tool"), "tool");
    expect(error).toMatchObject({ code: "permission_denied", details: { pinned: first, found: other } });
  });

  test("goes along with a newer version behind the same link, and says so", async () => {
    const old = await program(join(root, "opt/tool/versions/1.0.30/tool"), "old");
    const link = join(root, "early/tool");
    await symlink(old, link);
    await says(await brokerFor("tool"), "tool");
    const newer = await program(join(root, "opt/tool/versions/1.0.31-beta.2/tool"), "new");
    await rm(link);
    await symlink(newer, link);
    const made = await brokerFor("tool");
    expect(await says(made, "tool")).toBe("new");
    expect(made.logs.map(({ message }) => message)).toEqual([
      `Program "tool" is a newer version now: ${newer} instead of ${old}.`,
    ]);
    expect(await pins().read("tool")).toMatchObject({ path: link, real: newer });
  });

  test("a program replaced in its place, as package managers do, stays the same program", async () => {
    const file = await program(join(root, "early/tool"), "old");
    await says(await brokerFor("tool"), "tool");
    await rename(await program(join(root, "early/tool.new"), "new"), file);
    expect(await says(await brokerFor("tool"), "tool")).toBe("new");
  });

  test("never starts what stands where the session works or may write, by whatever way", async () => {
    const made = await makeBroker();
    const places = [made.options.workdir, made.options.dataDir, made.options.tempDir];
    for (const folder of places) {
      const file = await program(join(folder, "tool"), "made");
      const { workdir, dataDir, tempDir } = made.options;
      const options = { workdir, dataDir, tempDir };
      const byPath = await refused(await brokerFor(file, { ...options, pins: undefined }), file);
      expect(byPath).toMatchObject({ code: "permission_denied", details: { grantable: false } });
      expect(byPath.message).toContain("where the session works or may write");
      await symlink(file, join(root, "early/tool"));
      expect((await refused(await brokerFor("tool", { ...options, pins: undefined }), "tool")).code).toBe(
        "binary_missing",
      );
      // Pinned by another session, for which it stood elsewhere.
      await pins().write({ binary: "tool", path: file, real: file, owner: 0, pinned_at: "2026-01-01T00:00:00Z" });
      expect((await refused(await brokerFor("tool", options), "tool")).message).toContain("may write");
      await rm(join(root, "early/tool"));
    }
  });
});

describe("isUpgrade", () => {
  test.each([
    ["/opt/tool/1.0.30/bin", "/opt/tool/#/bin"],
    ["/usr/bin/python3.11", "/usr/bin/python#"],
    ["/cellar/git/2.40.1_1/bin/git", "/cellar/git/#/bin/git"],
    ["/n/v20.1.0-rc.1/lib", "/n/v#/lib"],
    ["/opt/x86_64-linux/tool", "/opt/x#-linux/tool"],
  ])("reads %s as %s", (path, expected) => {
    expect(withoutVersions(path)).toBe(expected);
  });

  test("is none to another place, from another user, or where everybody may write", async () => {
    const old = await program(join(root, "v/1.0/tool"), "old");
    const newer = await program(join(root, "v/1.1/tool"), "new");
    const pin = { ...await newPin(old, { workdir: "/nowhere", writable: [], refuse: () => new Error() }) };
    expect(await isUpgrade(pin, newer)).toBe(true);
    expect(await isUpgrade(pin, await program(join(root, "w/1.1/tool"), "new"))).toBe(false);
    expect(await isUpgrade(pin, join(root, "v/1.2/tool"))).toBe(false);
    if (process.getuid?.() !== 0) expect(await isUpgrade({ ...pin, owner: 4242 }, newer)).toBe(false);
    await chmod(join(root, "v/1.1"), 0o777);
    expect(await isUpgrade(pin, newer)).toBe(false);
    await chmod(join(root, "v/1.1"), 0o755);
    await chmod(join(root, "v"), 0o777);
    expect(await isUpgrade(pin, newer)).toBe(false);
  });
});

describe("openPins", () => {
  afterEach(() => void vi.useRealTimers());

  test("keeps the pins of each plugin apart, and over hosts", async () => {
    const store = openPins(join(root, "pins"));
    const pin = { binary: "/a/tool", path: "/a/tool", real: "/b/tool", owner: 1, pinned_at: "2026-01-01T00:00:00Z" };
    await store.of("acme").write(pin);
    expect(await openPins(join(root, "pins")).of("acme").read("/a/tool")).toEqual(pin);
    expect(await store.of("acme").list()).toEqual([pin]);
    expect(await store.of("other").read("/a/tool")).toBeNull();
    expect(await store.of("other").list()).toEqual([]);
  });

  test("a pin is read again only when its file has changed", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10_000 });
    const mine = openPins(join(root, "pins")).of("acme");
    const pin = { binary: "/a/tool", path: "/a/tool", real: "/b/tool", owner: 1, pinned_at: "2026-01-01T00:00:00Z" };
    await mine.write(pin);
    const read = await mine.read("/a/tool");
    expect(await mine.read("/a/tool")).toBe(read);
    await pins().write({ ...pin, real: "/c/tool" });
    expect(await mine.read("/a/tool")).toEqual({ ...pin, real: "/c/tool" });
  });

  test("a damaged pin is no missing one: the program is not started until it is granted again", async () => {
    await program(join(root, "early/tool"), "right");
    await says(await brokerFor("tool"), "tool");
    const [name = ""] = await readdir(join(root, "pins/acme"));
    await writeFile(join(root, "pins/acme", name), "{");
    expect(await refused(await brokerFor("tool"), "tool")).toMatchObject({
      code: "io_error",
      hint: expect.stringContaining("Grant the program again") as unknown,
    });
  });
});
