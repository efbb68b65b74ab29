import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, open, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { killTree } from "../ground/platform/marked-tree.ts";
import { anyShell, codeOf, makeBroker, readAll, runShell } from "../walls/broker/broker-fixture.ts";
import { adapterCode, completed, openHost } from "../sessions/host/test-host.ts";

test("G26 a program in a folder of PATH that the adapter may write to is passed over for the next of its name", async () => {
  const { root } = await makeBroker();
  const permissions = { run: [{ binary: "echo", args: ["{}"] }], write: [join(root, "bin")] };
  await mkdir(join(root, "bin"));
  await writeFile(join(root, "bin", "echo"), "#!/bin/sh\nprintf stolen", { mode: 0o755 });
  const { broker } = await makeBroker({ permissions });
  const path = process.env["PATH"];
  process.env["PATH"] = `${join(root, "bin")}:${path}`;
  try {
    const { stdout } = await broker.call("run", { binary: "echo", args: ["real"], options: {} }) as { stdout: number };
    expect(await readAll(broker, stdout)).toBe("real\n");
  } finally {
    process.env["PATH"] = path;
  }
});

test(
  "G31 a working directory whose git settings would run code runs none of it for the host's own look at it",
  async () => {
    const { add, host, workdir, root } = await openHost();
    await add("acme", { code: adapterCode(`yield { type: "progress", message: "x" }; yield ${completed};`) });
    const trap = join(root, "trap.sh");
    const trace = join(root, "pwned");
    await writeFile(trap, `#!/bin/sh\ntouch "${trace}"\ncat\n`, { mode: 0o755 });
    const git = (...args: string[]) => execFileSync("git", ["-C", workdir, ...args], { stdio: "ignore" });
    git("init", "-q");
    git("config", "user.email", "a@b.c");
    git("config", "user.name", "a");
    await writeFile(join(workdir, "a.txt"), "a\n");
    git("add", "a.txt");
    git("commit", "-qm", "first");
    await writeFile(join(workdir, ".gitattributes"), "* filter=evil diff=evil merge=evil\n");
    for (const name of ["pre-commit", "post-index-change", "post-checkout", "fsmonitor-watchman"]) {
      await writeFile(join(workdir, ".git", "hooks", name), `#!/bin/sh\ntouch "${trace}"\n`, { mode: 0o755 });
    }
    for (
      const key of [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "credential.helper",
        "gpg.program",
        "uploadpack.packObjectsHook",
        "alias.status",
      ]
    ) git("config", key, trap);
    await writeFile(join(workdir, "a.txt"), "changed\n");
    const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, { adapter: "acme" });
    expect((await session.result()).outcome).toBe("completed");
    await expect(access(trace)).rejects.toMatchObject({ code: "ENOENT" });
  },
  30_000,
);

test("G32 a pattern says all arguments, not how they begin", async () => {
  const { broker } = await makeBroker({ permissions: { run: [{ binary: "echo", args: ["status"] }] } });
  for (const args of [["status", "-c"], ["-c", "x", "status"], [], ["statusx"], ["status", ""]]) {
    expect(await codeOf(broker.call("run", { binary: "echo", args, options: {} }))).toBe("permission_denied");
  }
});

test("G33 a child has its own session and no terminal, and nothing of what the host has opened", async () => {
  const { broker, workdir } = await makeBroker({ permissions: { run: [anyShell] } });
  const held = await open(join(workdir, "held"), "w");
  try {
    const script = "cut -d' ' -f5,6,7 /proc/$$/stat; echo $$; ls -l /proc/$$/fd";
    const { stdout } = await runShell(broker, script);
    const [ids = "", pid = "", ...descriptors] = (await readAll(broker, stdout)).trim().split("\n");
    expect(ids).toBe(`${pid} ${pid} 0`);
    expect(descriptors.join()).not.toContain(join(workdir, "held"));
    const targets = new Map(descriptors.flatMap((line) => {
      const [, number, target = ""] = / (\d+) -> (.*)$/.exec(line) ?? [];
      return number === undefined ? [] : [[Number(number), target] as const];
    }));
    expect([...targets.keys()]).toEqual(expect.arrayContaining([0, 1, 2]));
    // What this process was itself started with has something in its place that leads nowhere.
    const inherited = await keptOpen();
    for (const [number, target] of targets) {
      // From 10 on a shell keeps copies of its own.
      if (number > 2 && number < 10) expect([number, inherited.get(number)]).toEqual([number, expect.any(String)]);
      if (inherited.has(number)) expect(target).not.toBe(inherited.get(number));
    }
  } finally {
    await held.close();
  }
});

/** Descriptors without O_CLOEXEC (proc_pid_fdinfo(5)) of this process, but the standard ones, and where they lead. */
async function keptOpen(): Promise<Map<number, string>> {
  const found = await Promise.all((await readdir("/proc/self/fdinfo")).map(async (name) => {
    const info = await readFile(`/proc/self/fdinfo/${name}`, "utf8").catch(() => "");
    const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? "2000000", 8);
    const kept = Number(name) > 2 && (flags & 0o2000000) === 0;
    return kept ? [[Number(name), await readlink(`/proc/self/fd/${name}`).catch(() => "")] as const] : [];
  }));
  return new Map(found.flat());
}

test("G36 a process is known to a session by a number of the session's own, never by the system's", async () => {
  const bystander = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    await once(bystander, "spawn");
    const { broker } = await makeBroker({ permissions: { run: [anyShell] } });
    await runShell(broker, "true");
    for (const operation of ["process_kill", "process_wait", "process_close_stdin"]) {
      expect(await codeOf(broker.call(operation, { process_id: bystander.pid! }))).toBe("not_found");
    }
    expect(await codeOf(broker.call("process_kill", { process_id: -1 }))).toBe("invalid_request");
    expect(bystander.exitCode ?? bystander.signalCode).toBe(null);
  } finally {
    bystander.kill("SIGKILL");
  }
});

test("G36 a pid that was given to another process since is left alone", async () => {
  const bystander = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    await once(bystander, "spawn");
    await killTree({ pid: bystander.pid!, startTime: "1", mark: "no-such-mark-anywhere", graceMs: 50 });
    expect(bystander.exitCode ?? bystander.signalCode).toBe(null);
    expect(await readFile(`/proc/${bystander.pid}/comm`, "utf8")).toBe("sleep\n");
  } finally {
    bystander.kill("SIGKILL");
  }
});
