import { execFileSync } from "node:child_process";
import { chmod, link, lstat, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { capabilities, codeOf, errorOf, makeBroker } from "./broker-fixture.ts";

const both = { read: ["workdir"], write: ["workdir"] };

describe("fs_read_text", () => {
  test("reads a file by a relative and an absolute path", async () => {
    const { broker, workdir } = await makeBroker({ permissions: { read: ["workdir"] } });
    await writeFile(join(workdir, "a.txt"), "näïve");
    expect(await broker.call("fs_read_text", { path: "a.txt" })).toBe("näïve");
    expect(await broker.call("fs_read_text", { path: join(workdir, "a.txt") })).toBe("näïve");
  });

  test.each([[undefined], [[]]])("is denied without a grant: %j", async (read) => {
    const { broker, workdir, events } = await makeBroker({ permissions: read === undefined ? {} : { read } });
    await writeFile(join(workdir, "a.txt"), "x");
    const error = await errorOf(broker.call("fs_read_text", { path: "a.txt" }));
    expect(error.toJSON()).toMatchObject({
      code: "permission_denied",
      hint: "bulkhead plugin grant acme read:workdir",
    });
    expect(capabilities(events)).toEqual([{
      type: "capability",
      permission: "read",
      target: join(workdir, "a.txt"),
      decision: "denied",
      grant_command: "bulkhead plugin grant acme read:workdir",
    }]);
  });

  test("does not follow a link out of the granted folder", async () => {
    const { broker, root, workdir } = await makeBroker({ permissions: both });
    await writeFile(join(root, "secret"), "s");
    await symlink(join(root, "secret"), join(workdir, "link"));
    await symlink(root, join(workdir, "folder"));
    for (const path of ["link", "folder/secret", "../secret", join(root, "secret")]) {
      expect(await errorOf(broker.call("fs_read_text", { path }))).toMatchObject({
        code: "permission_denied",
        hint: `bulkhead plugin grant acme read:${join(root, "secret")}`,
      });
    }
  });

  test("follows a link that stays inside", async () => {
    const { broker, workdir } = await makeBroker({ permissions: both });
    await writeFile(join(workdir, "a"), "x");
    await symlink("a", join(workdir, "link"));
    expect(await broker.call("fs_read_text", { path: "link" })).toBe("x");
  });

  test("tells nothing about what exists outside", async () => {
    const { broker, root, workdir } = await makeBroker({ permissions: both });
    await symlink(join(root, "nowhere"), join(workdir, "hanging"));
    const codes = await Promise.all(
      ["/etc/passwd", "/etc/not-there", "/etc/passwd/x"].map((path) => codeOf(broker.call("fs_read_text", { path }))),
    );
    expect(codes).toEqual(["permission_denied", "permission_denied", "permission_denied"]);
    expect(await codeOf(broker.call("fs_read_text", { path: "hanging" }))).toBe("io_error");
  });

  test("keeps pseudo file systems closed even when everything is granted", async () => {
    const { broker, workdir } = await makeBroker({ permissions: { read: ["/"] } });
    await symlink("/proc/self", join(workdir, "me"));
    for (const path of ["/proc/self/environ", "/dev/zero", "/sys/kernel", "me/environ"]) {
      expect(await codeOf(broker.call("fs_read_text", { path }))).toBe("permission_denied");
    }
  });

  test("keeps the host's own state closed even when everything is granted", async () => {
    const fixture = await makeBroker();
    const { broker } = await makeBroker({
      permissions: { read: ["/"], write: ["/"] },
      protectedPaths: [fixture.root],
      dataDir: join(fixture.root, "data"),
    });
    await writeFile(join(fixture.root, "token"), "t");
    expect(await codeOf(broker.call("fs_read_text", { path: join(fixture.root, "token") }))).toBe("permission_denied");
    await broker.call("fs_write_text", { path: "data:note", text: "mine" });
    expect(await broker.call("fs_read_text", { path: "data:note" })).toBe("mine");
    expect(await codeOf(broker.call("fs_read_text", { path: "data:kv.json" }))).toBe("permission_denied");
  });

  test("refuses what is not a regular file, without waiting for it", async () => {
    const { broker, workdir } = await makeBroker({ permissions: both });
    execFileSync("mkfifo", [join(workdir, "pipe")]);
    await mkdir(join(workdir, "folder"));
    expect(await codeOf(broker.call("fs_read_text", { path: "pipe" }))).toBe("io_error");
    expect(await codeOf(broker.call("fs_read_text", { path: "folder" }))).toBe("io_error");
    expect(await codeOf(broker.call("fs_write_text", { path: "pipe", text: "x" }))).toBe("io_error");
  });

  test("holds to the smaller limit of host and permission", async () => {
    const { broker, workdir } = await makeBroker({ permissions: { ...both, limits: { file_bytes: 10 } } });
    await writeFile(join(workdir, "big"), "x".repeat(11));
    expect(await codeOf(broker.call("fs_read_text", { path: "big" }))).toBe("too_large");
    expect(await codeOf(broker.call("fs_write_text", { path: "new", text: "ä".repeat(6) }))).toBe("too_large");
    await broker.call("fs_write_text", { path: "new", text: "ä".repeat(5) });
  });

  test("says not_found for what is missing inside", async () => {
    const { broker } = await makeBroker({ permissions: both });
    expect(await codeOf(broker.call("fs_read_text", { path: "no/such" }))).toBe("not_found");
  });

  test("reads the plugin's own folder and absolute roots when they are granted", async () => {
    const { options, root } = await makeBroker();
    const { broker } = await makeBroker({ pluginDir: options.pluginDir, permissions: { read: ["plugin", root] } });
    await writeFile(join(options.pluginDir, "p"), "plugin");
    await writeFile(join(root, "r"), "root");
    expect(await broker.call("fs_read_text", { path: join(options.pluginDir, "p") })).toBe("plugin");
    expect(await broker.call("fs_read_text", { path: join(root, "r") })).toBe("root");
    expect(await codeOf(broker.call("fs_write_text", { path: join(options.pluginDir, "p"), text: "" }))).toBe(
      "permission_denied",
    );
  });

  test("reports the same allowed use once", async () => {
    const { broker, workdir, events } = await makeBroker({ permissions: both });
    await writeFile(join(workdir, "a"), "x");
    for (let i = 0; i < 5; i++) await broker.call("fs_read_text", { path: "a" });
    expect(capabilities(events)).toEqual([
      { type: "capability", permission: "read", target: join(workdir, "a"), decision: "allowed" },
    ]);
  });
});

describe("fs_write_base64", () => {
  test("writes the very bytes, under the same grant and limit, and refuses what is not base64", async () => {
    const { broker, workdir } = await makeBroker({ permissions: { write: ["workdir"], limits: { file_bytes: 4 } } });
    await broker.call("fs_write_base64", { path: "deep/a.bin", base64: "AP8BgA==" });
    expect([...await readFile(join(workdir, "deep/a.bin"))]).toEqual([0, 255, 1, 128]);
    for (const base64 of ["AP8BgA", "AP8-gA==", "not base64"]) {
      expect(await codeOf(broker.call("fs_write_base64", { path: "b", base64 }))).toBe("invalid_request");
    }
    expect(await codeOf(broker.call("fs_write_base64", { path: "b", base64: "AP8BgAA=" }))).toBe("too_large");
    expect(await codeOf(broker.call("fs_write_base64", { path: "/etc/x", base64: "" }))).toBe("permission_denied");
  });
});

describe("fs_write_text", () => {
  test("makes the file and the folders that lead to it", async () => {
    const { broker, workdir } = await makeBroker({ permissions: both });
    await broker.call("fs_write_text", { path: "deep/er/a.txt", text: "one" });
    await broker.call("fs_write_text", { path: "deep/er/a.txt", text: "two" });
    expect(await readFile(join(workdir, "deep/er/a.txt"), "utf8")).toBe("two");
    expect(await readdir(join(workdir, "deep/er"))).toEqual(["a.txt"]);
  });

  test("keeps the mode of the file it replaces, whatever the mask of the host is", async () => {
    const { broker, workdir } = await makeBroker({ permissions: both });
    await writeFile(join(workdir, "tool"), "x");
    await chmod(join(workdir, "tool"), 0o755);
    const mask = process.umask(0o077);
    try {
      await broker.call("fs_write_text", { path: "tool", text: "y" });
    } finally {
      process.umask(mask);
    }
    expect((await stat(join(workdir, "tool"))).mode & 0o777).toBe(0o755);
  });

  test("is not allowed by a grant to read", async () => {
    const { broker } = await makeBroker({ permissions: { read: ["workdir"] } });
    expect(await errorOf(broker.call("fs_write_text", { path: "a", text: "" }))).toMatchObject({
      code: "permission_denied",
      hint: "bulkhead plugin grant acme write:workdir",
    });
  });

  test("opens what the operator's own grant names in the working directory, and nothing beside it", async () => {
    const permissions = { read: ["workdir"], write: ["workdir", "workdir:package.json", "workdir:.github/workflows"] };
    const { broker, workdir } = await makeBroker({ permissions });
    const write = (path: string) => broker.call("fs_write_text", { path, text: "x" });
    for (const path of ["package.json", ".github/workflows/ci.yml", "src/a.ts"]) {
      await write(path);
      expect(await readFile(join(workdir, path), "utf8")).toBe("x");
    }
    for (const path of ["sub/package.json", "PACKAGE.JSON", ".github/dependabot.yml", ".github/workflows/.env"]) {
      expect(await errorOf(write(path))).toMatchObject({
        code: "permission_denied",
        hint: `bulkhead plugin grant acme write:workdir:${path}`,
      });
    }
  });

  test("takes a name from manifest or request, which is narrower than the grant, for no word of the operator", async () => {
    const { broker } = await makeBroker({
      permissions: { write: ["workdir:package.json"] },
      spelledRoots: ["workdir"],
    });
    expect(await errorOf(broker.call("fs_write_text", { path: "package.json", text: "x" }))).toMatchObject({
      code: "permission_denied",
      hint: "bulkhead plugin grant acme write:workdir:package.json",
    });
  });

  test("does not let a link stand for what the operator named", async () => {
    const permissions = { write: ["workdir", "workdir:Makefile", "workdir:out"] };
    const { broker, root, workdir } = await makeBroker({ permissions });
    await mkdir(join(workdir, ".git"));
    await symlink(join(".git", "config"), join(workdir, "Makefile"));
    await writeFile(join(workdir, ".git", "config"), "");
    await symlink(root, join(workdir, "out"));
    for (const path of ["Makefile", "out/x"]) {
      expect(await codeOf(broker.call("fs_write_text", { path, text: "x" }))).toBe("permission_denied");
    }
  });

  test("asks a person for the very file, where one is there", async () => {
    const asked: string[] = [];
    const { broker } = await makeBroker({
      permissions: both,
      ceiling: both,
      askGrant: ({ permission, target }) => Promise.resolve(asked.push(`${permission}:${target}`) > 0),
    });
    await broker.call("fs_write_text", { path: "Makefile", text: "all:" });
    await broker.call("fs_write_text", { path: "a.txt", text: "x" });
    expect(asked).toEqual(["write:workdir:Makefile"]);
  });

  test.each([".git/hooks/pre-commit", ".git/config", "sub/.GIT/config", ".envrc", ".vscode/tasks.json", ".bashrc"])(
    "refuses %s, which programs act on by themselves",
    async (path) => {
      const { broker, workdir } = await makeBroker({ permissions: both });
      const error = await errorOf(broker.call("fs_write_text", { path, text: "x" }));
      expect(error).toMatchObject({
        code: "permission_denied",
        hint: `bulkhead plugin grant acme write:workdir:${path}`,
      });
      expect(await readdir(workdir)).toEqual([]);
    },
  );

  test("refuses them through a link as well", async () => {
    const { broker, workdir } = await makeBroker({ permissions: both });
    await mkdir(join(workdir, ".git"));
    await symlink(".git", join(workdir, "harmless"));
    expect(await codeOf(broker.call("fs_write_text", { path: "harmless/config", text: "x" }))).toBe(
      "permission_denied",
    );
  });

  test("refuses names that the host adds", async () => {
    const { broker } = await makeBroker({ permissions: both, autoexecNames: [".agent-settings"] });
    const write = broker.call("fs_write_text", { path: ".agent-settings/hook", text: "x" });
    expect(await codeOf(write)).toBe("permission_denied");
  });

  test("does not write through a link that leads out or nowhere", async () => {
    const { broker, root, workdir } = await makeBroker({ permissions: both });
    await writeFile(join(root, "victim"), "old");
    await symlink(join(root, "victim"), join(workdir, "link"));
    await symlink(join(root, "new"), join(workdir, "hanging"));
    expect(await codeOf(broker.call("fs_write_text", { path: "link", text: "x" }))).toBe("permission_denied");
    expect(await codeOf(broker.call("fs_write_text", { path: "hanging", text: "x" }))).toBe("io_error");
    expect(await readFile(join(root, "victim"), "utf8")).toBe("old");
    expect(await readdir(root)).not.toContain("new");
  });

  test("refuses a file with a second name", async () => {
    const { broker, root, workdir } = await makeBroker({ permissions: both });
    await writeFile(join(root, "victim"), "old");
    await link(join(root, "victim"), join(workdir, "twin"));
    expect(await codeOf(broker.call("fs_write_text", { path: "twin", text: "x" }))).toBe("permission_denied");
    expect(await readFile(join(root, "victim"), "utf8")).toBe("old");
  });
});

describe("fs_list", () => {
  test("gives sorted names", async () => {
    const { broker, workdir } = await makeBroker({ permissions: both });
    for (const name of ["b", "a", "c"]) await writeFile(join(workdir, name), "");
    expect(await broker.call("fs_list", { path: "." })).toEqual(["a", "b", "c"]);
  });

  test("refuses a folder with too many entries", async () => {
    const limits = { ...defaultLimits, dir_entries: 3 };
    const { broker, workdir } = await makeBroker({ permissions: both, limits });
    for (const name of ["a", "b", "c"]) await writeFile(join(workdir, name), "");
    expect(await broker.call("fs_list", { path: "." })).toHaveLength(3);
    await writeFile(join(workdir, "d"), "");
    expect(await codeOf(broker.call("fs_list", { path: "." }))).toBe("limit_exceeded");
    for (let n = 0; n < 10; n++) await codeOf(broker.call("fs_list", { path: "." }));
    const fds = await readdir("/proc/self/fd");
    const open = await Promise.all(fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
    expect(open.filter((target) => target.startsWith(workdir))).toEqual([]);
  });

  test("says not_found for a file", async () => {
    const { broker, workdir } = await makeBroker({ permissions: both });
    await writeFile(join(workdir, "a"), "");
    expect(await codeOf(broker.call("fs_list", { path: "a" }))).toBe("not_found");
  });
});

describe("fs_stat", () => {
  test("tells the kinds apart and does not follow a link", async () => {
    const { broker, workdir } = await makeBroker({ permissions: both });
    await writeFile(join(workdir, "file"), "12345");
    await mkdir(join(workdir, "folder"));
    await symlink("/etc/passwd", join(workdir, "link"));
    execFileSync("mkfifo", [join(workdir, "pipe")]);
    const kinds = ["file", "folder", "link", "pipe", "."].map((path) => broker.call("fs_stat", { path }));
    expect(await Promise.all(kinds)).toMatchObject([
      { kind: "file", bytes: 5, modified_at: expect.stringMatching(/^\d{4}-.*Z$/) },
      { kind: "folder" },
      { kind: "symlink" },
      { kind: "other" },
      { kind: "folder" },
    ]);
  });
});

describe("fs_remove", () => {
  test("removes a file, a link itself and an empty folder", async () => {
    const { broker, root, workdir } = await makeBroker({ permissions: both });
    await writeFile(join(workdir, "file"), "");
    await writeFile(join(root, "kept"), "");
    await symlink(join(root, "kept"), join(workdir, "link"));
    await mkdir(join(workdir, "folder"));
    for (const path of ["file", "link", "folder"]) await broker.call("fs_remove", { path });
    expect(await readdir(workdir)).toEqual([]);
    expect((await lstat(join(root, "kept"))).isFile()).toBe(true);
  });

  test("refuses a full folder, the root itself and autoexec names", async () => {
    const { broker, workdir } = await makeBroker({ permissions: both });
    await mkdir(join(workdir, "full"));
    await writeFile(join(workdir, "full", "a"), "");
    await mkdir(join(workdir, ".git"));
    expect(await codeOf(broker.call("fs_remove", { path: "full" }))).toBe("io_error");
    expect(await codeOf(broker.call("fs_remove", { path: "." }))).toBe("permission_denied");
    expect(await codeOf(broker.call("fs_remove", { path: ".git" }))).toBe("permission_denied");
  });
});

describe("the quota of a data folder", () => {
  const limits = { ...defaultLimits, data_bytes: 10_000, data_entries: 5 };
  const made = () => makeBroker({ permissions: { read: ["data"], write: ["data"] }, limits });
  const full = { code: "limit_exceeded", details: { data_bytes: 10_000, data_entries: 5 } };

  test("counts bytes over all files, with what is replaced and removed", async () => {
    const { broker, options } = await made();
    const write = (name: string, bytes: number) =>
      broker.call("fs_write_text", { path: join(options.dataDir, name), text: "x".repeat(bytes) });
    await write("a", 6000);
    expect(await errorOf(write("b", 4001))).toMatchObject(full);
    await write("b", 4000);
    await write("a", 5000);
    await write("a", 6000);
    expect(await errorOf(write("a", 6001))).toMatchObject(full);
    await broker.call("fs_remove", { path: join(options.dataDir, "a") });
    await write("c", 6000);
    expect(await errorOf(write("d", 1))).toMatchObject(full);
  });

  test("counts files and folders", async () => {
    const { broker, options } = await made();
    const write = (name: string) => broker.call("fs_write_text", { path: join(options.dataDir, name), text: "" });
    await write("f/g/one");
    await write("f/two");
    expect(await errorOf(write("h/three"))).toMatchObject(full);
    await write("three");
    expect(await errorOf(write("four"))).toMatchObject(full);
    await write("three");
  });

  test("sees what others have put there and taken away, and holds writes that come at the same time", async () => {
    const { broker, options } = await made();
    await mkdir(options.dataDir, { recursive: true });
    await writeFile(join(options.dataDir, "theirs"), "x".repeat(9000));
    const write = (name: string, bytes: number) =>
      broker.call("fs_write_text", { path: join(options.dataDir, name), text: "x".repeat(bytes) });
    expect(await errorOf(write("a", 2000))).toMatchObject(full);
    await rm(join(options.dataDir, "theirs"));
    const outcomes = await Promise.allSettled(["a", "b", "c", "d"].map((name) => write(name, 4000)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  });

  test("leaves other folders alone", async () => {
    const { broker, workdir } = await makeBroker({ permissions: { write: ["workdir"] }, limits });
    await broker.call("fs_write_text", { path: join(workdir, "large"), text: "x".repeat(50_000) });
  });
});

describe("a denied folder", () => {
  test("is closed by its name, by a link to it and where its own link leads; the rest of the root stays open", async () => {
    const { broker, workdir, root } = await makeBroker({
      permissions: both,
      deny: { read: ["workdir:closed", "workdir:led", "workdir:later"], write: ["workdir:closed", "workdir:later"] },
    });
    for (const folder of ["closed", "open"]) await mkdir(join(workdir, folder));
    await mkdir(join(root, "elsewhere"));
    await symlink(join(workdir, "open"), join(workdir, "led"));
    await symlink(join(workdir, "closed"), join(workdir, "way"));
    for (const folder of ["closed", "open"]) await writeFile(join(workdir, folder, "x"), folder);
    await writeFile(join(workdir, "top"), "top");
    expect(await broker.call("fs_read_text", { path: "top" })).toBe("top");
    await broker.call("fs_write_text", { path: "open/y", text: "y" });
    for (const path of ["closed/x", "way/x", "led/x", "open/x"]) {
      expect(await codeOf(broker.call("fs_read_text", { path })), path).toBe("permission_denied");
    }
    for (const path of ["closed/new", "way/new", "later", "later/new"]) {
      expect(await codeOf(broker.call("fs_write_text", { path, text: "x" })), path).toBe("permission_denied");
    }
  });
});
