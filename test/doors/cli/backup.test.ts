import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const program = "Deno" in globalThis
  ? ["run", "-A", join(root, "core/doors/cli/main.ts")]
  : [join(root, "dist/bundle/cli.js")];

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "bulkhead-backup-"));
  for (const place of ["old", "new"]) await mkdir(join(home, place, "project"), { recursive: true });
  await writeFile(
    join(home, "old", "project", "bulkhead.yaml"),
    "bulkhead: 1\nstate_dir: state\nplugins: { replay: { grant: { read: [plugin, workdir], write: [workdir] } } }\n",
  );
});
afterEach(() => rm(home, { recursive: true, maxRetries: 3 }));

/** Starts the command line of one of two machines. */
function start(machine: string, ...args: string[]): ChildProcess {
  const { PATH = "", HOME = "", DENO_DIR } = process.env;
  return spawn(process.execPath, [...program, ...args], {
    cwd: join(home, machine, "project"),
    env: {
      PATH,
      HOME,
      XDG_CONFIG_HOME: join(home, machine),
      XDG_DATA_HOME: join(home, machine),
      BULKHEAD_COMMAND: "bulkhead",
      ...(DENO_DIR === undefined ? {} : { DENO_DIR }),
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

async function cli(machine: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const [, stdin = ""] = args[0] === "secret" ? ["", "the-value-of-a-key"] : [];
  const child = start(machine, ...args);
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => (texts[name] += text));
  }
  child.stdin?.end(stdin);
  const [code] = await once(child, "close") as [number];
  return { code, ...texts };
}

const session = ["run", "replay", "Go.", "--quiet", "--param", "speed=0"];

test("a backup of a host that runs brings everything to another machine", async () => {
  expect(await cli("old", "secret", "set", "API_KEY")).toMatchObject({ code: 0 });
  expect(await cli("old", ...session)).toMatchObject({ code: 0 });
  const daemon = start("old", "up", "--port", "0", "--json");
  try {
    await once(daemon.stdout!, "data");
    const made = await cli("old", "backup", join(home, "kept"), "--json");
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(made.stdout)).toMatchObject({
      folder: join(home, "kept"),
      unverified: [],
      worktrees_left_out: 0,
    });
    expect((await stat(join(home, "kept"))).mode & 0o077).toBe(0);
  } finally {
    daemon.kill("SIGTERM");
    await once(daemon, "close");
  }

  // As a copy by other tools could leave it.
  await chmod(join(home, "kept", "secrets", "secrets.json"), 0o644);
  expect(await cli("new", "restore", join(home, "kept"))).toMatchObject({ code: 0, stderr: "" });
  const ids = await Promise.all(["old", "new"].map(async (machine) => {
    const { stdout } = await cli(machine, "session", "list", "--json");
    return stdout.trim().split("\n").map((line) => (JSON.parse(line) as { session_id: string }).session_id);
  }));
  expect(ids[1]).toEqual(ids[0]);
  expect(await cli("new", "journal", "verify")).toMatchObject({ code: 0 });
  expect((await cli("new", "secret", "list", "--json")).stdout).toContain(
    '"name":"API_KEY","source":"stored","set":true',
  );
  const [token, copy] = await Promise.all(
    ["old", "new"].map((machine) => readFile(join(home, machine, "project", "state", "http", "token"), "utf8")),
  );
  expect(copy).toBe(token);
  // It goes on as a host of its own.
  expect(await cli("new", ...session)).toMatchObject({ code: 0 });
}, 60_000);

test("a restore replaces nothing unasked, and keeps what it replaces", async () => {
  expect(await cli("old", ...session)).toMatchObject({ code: 0 });
  expect(await cli("old", "backup", join(home, "kept"))).toMatchObject({ code: 0 });
  expect(await cli("old", ...session)).toMatchObject({ code: 0 });
  const refused = await cli("old", "restore", join(home, "kept"));
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("--replace");
  expect(await countSessions("old")).toBe(2);

  const replaced = await cli("old", "restore", join(home, "kept"), "--replace", "--json");
  expect(replaced.code).toBe(0);
  expect(await countSessions("old")).toBe(1);
  const [{ to = "" } = {}] = (JSON.parse(replaced.stdout) as { set_aside: { to: string }[] }).set_aside;
  expect(await readdir(to)).toContain("host-1");
}, 60_000);

test("a restore that stops half way names what it set aside, and the command that finishes it", async () => {
  expect(await cli("old", ...session)).toMatchObject({ code: 0 });
  expect(await cli("old", "secret", "set", "API_KEY")).toMatchObject({ code: 0 });
  expect(await cli("old", "backup", join(home, "kept"))).toMatchObject({ code: 0 });
  // Nothing can be written below a file.
  const blocked = join(home, "old", "bulkhead");
  await rm(blocked, { recursive: true });
  await writeFile(blocked, "");
  const stopped = await cli("old", "restore", join(home, "kept"), "--replace", "--json");
  expect(stopped.code).not.toBe(0);
  const { error } = JSON.parse(stopped.stdout) as {
    error: { message: string; hint: string; details: { set_aside: { from: string; to: string }[] } };
  };
  const [{ from, to } = { from: "", to: "" }] = error.details.set_aside;
  expect(error.message).toContain("is no folder");
  expect(error.message).toContain(`What was in "${from}" is in "${to}".`);
  expect(error.hint).toContain(`bulkhead restore "${join(home, "kept")}" --replace`);
  expect(error.hint).toContain(`remove "${from}" and rename "${to}" to it`);
  expect(await readdir(to)).toContain("host-1");

  await rm(blocked);
  expect(await cli("old", "restore", join(home, "kept"), "--replace")).toMatchObject({ code: 0 });
  expect(await countSessions("old")).toBe(1);
}, 60_000);

test(
  "a restore refuses a running host, a changed file, a stranger's folder and half a backup, and changes nothing",
  async () => {
    expect(await cli("old", ...session)).toMatchObject({ code: 0 });
    expect(await cli("old", "backup", join(home, "kept"))).toMatchObject({ code: 0 });
    expect((await cli("old", "backup", join(home, "kept"))).stderr).toContain("is there already");
    expect((await cli("old", "backup", "state/data/kept")).stderr).toContain("it lies in what is backed up");
    const daemon = start("old", "up", "--port", "0", "--json");
    try {
      await once(daemon.stdout!, "data");
      expect((await cli("old", "restore", join(home, "kept"), "--replace")).stderr).toContain("Stop it first");
    } finally {
      daemon.kill("SIGTERM");
      await once(daemon, "close");
    }
    await chmod(join(home, "kept"), 0o777);
    expect((await cli("new", "restore", join(home, "kept"))).stderr).toContain("everybody may write to it");
    await chmod(join(home, "kept"), 0o700);
    const tokens = join(home, "kept", "config", "bulkhead.yaml");
    const text = await readFile(tokens, "utf8");
    await writeFile(tokens, `${text}# changed\n`);
    expect((await cli("new", "restore", join(home, "kept"))).stderr).toContain("is changed");
    await writeFile(tokens, text);
    const index = JSON.parse(await readFile(join(home, "kept", "backup.json"), "utf8")) as {
      files: { name: string }[];
    };
    index.files[0]!.name = "state/../../outside";
    await writeFile(join(home, "kept", "backup.json"), JSON.stringify(index));
    expect((await cli("new", "restore", join(home, "kept"))).stderr).toContain("is not the list of a backup");
    await rm(join(home, "kept", "backup.json"));
    expect((await cli("new", "restore", join(home, "kept"))).stderr).toContain("no whole backup");
    expect(await readdir(join(home, "new", "project"))).toEqual([]);
  },
  60_000,
);

async function countSessions(machine: string): Promise<number> {
  return (await cli(machine, "session", "list", "--json")).stdout.trim().split("\n").length;
}
