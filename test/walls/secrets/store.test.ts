import { spawn, spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readSecrets, removeSecret, secretsFile, storeSecret } from "../../../core/walls/secrets/store.ts";
import { errorOf } from "../broker/broker-fixture.ts";

let root = "";
let file = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bulkhead-secrets-"));
  file = join(root, "data", "secrets", "secrets.json");
});
afterEach(() => rm(root, { recursive: true }));

describe("the store of secrets", () => {
  test("keeps, replaces and removes values, also under names that objects have", async () => {
    await storeSecret(file, { name: "A", value: "first-value" });
    await storeSecret(file, { name: "__proto__", value: "proto-value\n" });
    await storeSecret(file, { name: "A", value: "second-value" });
    expect([...await readSecrets(file)]).toEqual([["A", "second-value"], ["__proto__", "proto-value\n"]]);
    expect(await removeSecret(file, "A")).toBe(true);
    expect(await removeSecret(file, "A")).toBe(false);
    expect([...(await readSecrets(file)).keys()]).toEqual(["__proto__"]);
  });

  test("is empty where there is no file", async () => {
    expect((await readSecrets(file)).size).toBe(0);
  });

  test("lets nobody else in, and leaves nothing beside the file", async () => {
    await storeSecret(file, { name: "A", value: "first-value" });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(file, ".."))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(file, ".."))).toEqual(["secrets.json"]);
  });

  test.each([0o640, 0o604, 0o660, 0o644])("is not read when others could: %o", async (mode) => {
    await storeSecret(file, { name: "A", value: "first-value" });
    await chmod(file, mode);
    const error = await errorOf(readSecrets(file));
    expect(error).toMatchObject({ code: "invalid_config", hint: `chmod 600 ${file}` });
    expect(await errorOf(storeSecret(file, { name: "B", value: "other-value" }))).toMatchObject({
      code: "invalid_config",
    });
  });

  test("is not read through a link, nor from what is no file, nor when it is damaged", async () => {
    await mkdir(join(file, ".."), { recursive: true });
    await writeFile(join(root, "other"), JSON.stringify({ secrets: 1, entries: [] }), { mode: 0o600 });
    await symlink(join(root, "other"), file);
    expect((await errorOf(readSecrets(file))).message).toContain("is a link");
    await rm(file);
    await mkdir(file);
    expect((await errorOf(readSecrets(file))).code).toBe("invalid_config");
    await rm(file, { recursive: true });
    for (const text of ["{", "[]", '{"secrets":1,"entries":[["A"]]}', '{"secrets":2,"entries":[]}']) {
      await writeFile(file, text, { mode: 0o600 });
      expect((await errorOf(readSecrets(file))).message).toContain("is damaged");
    }
  });

  test("loses nothing when many write at once", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `NAME_${index}`);
    await Promise.all(names.map((name) => storeSecret(file, { name, value: `value-of-${name}` })));
    expect([...(await readSecrets(file)).keys()].sort()).toEqual([...names].sort());
  });

  test("takes a lock over that a crash left behind", async () => {
    await storeSecret(file, { name: "A", value: "first-value" });
    await writeFile(`${file}.lock`, "");
    const past = new Date(Date.now() - 60_000);
    await utimes(`${file}.lock`, past, past);
    await storeSecret(file, { name: "A", value: "second-value" });
    expect((await readSecrets(file)).get("A")).toBe("second-value");
  });

  test("does not wait for a program that was killed while it changed them", async () => {
    await mkdir(dirname(file), { recursive: true });
    const killed = spawnSync("true").pid;
    await writeFile(`${file}.lock`, JSON.stringify({ pid: killed, start: "1" }));
    await storeSecret(file, { name: "A", value: "first-value" });
    expect((await readSecrets(file)).get("A")).toBe("first-value");
  });

  test("is not changed while another program changes it, however long that takes", async () => {
    await mkdir(dirname(file), { recursive: true });
    const other = spawn("sleep", ["60"]);
    try {
      const lock = `${file}.lock`;
      await writeFile(lock, JSON.stringify({ pid: other.pid, start: null }));
      const past = new Date(Date.now() - 60_000);
      await utimes(lock, past, past);
      expect(await errorOf(storeSecret(file, { name: "A", value: "first-value" }))).toMatchObject({ code: "busy" });
    } finally {
      other.kill("SIGKILL");
    }
  });

  test.each([
    ["short", "fewer than 8 characters"],
    ["nul-in-it\0", "NUL"],
    ["half a pair \ud800", "Unicode"],
    ["x".repeat(20_000), "more than 16384"],
  ])("refuses a value that could not be kept or hidden: %j", async (value, why) => {
    const error = await errorOf(storeSecret(file, { name: "A", value }));
    expect(error.code).toBe("invalid_config");
    expect(error.message).toContain(why);
    expect(JSON.stringify(error)).not.toContain(value);
    await expect(readFile(file)).rejects.toThrow();
  });

  test("stands in a folder of its own below the XDG data folder", () => {
    expect(secretsFile({ XDG_DATA_HOME: "/x/data" })).toBe("/x/data/bulkhead/secrets/secrets.json");
    expect(secretsFile({ HOME: "/home/me" })).toBe("/home/me/.local/share/bulkhead/secrets/secrets.json");
  });
});
