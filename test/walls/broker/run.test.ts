import { chmod, mkdir, readdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { MissingGrant, SessionBroker } from "../../../core/walls/broker/session-broker.ts";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { hasMark } from "../../ground/platform/marked-tree.ts";
import { readRow } from "../../../core/ground/platform/processes/process-rows.ts";
import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { anyShell, capabilities, codeOf, errorOf, makeBroker, readAll, runShell } from "./broker-fixture.ts";

const shell = { run: [anyShell] };

function run(broker: SessionBroker, binary: string, args: string[], options: object = {}) {
  return broker.call("run", { binary, args, options }) as Promise<
    { process_id: number; stdout: number; stderr: number }
  >;
}

function makeShell(env: string[] = [], changes: object = {}) {
  return makeBroker({ permissions: { run: [{ ...anyShell, env }] }, ...changes });
}

async function environment(broker: SessionBroker, options: object = {}): Promise<Record<string, string>> {
  const { stdout } = await runShell(broker, "env", options);
  const lines = (await readAll(broker, stdout)).trim().split("\n");
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

describe("run", () => {
  test("streams both ways and tells how the program ended", async () => {
    const { broker, events } = await makeBroker({ permissions: shell });
    const { process_id, stdout, stderr } = await runShell(broker, "cat; echo bad >&2; exit 4", { stdin: "open" });
    expect(await broker.call("process_write", { process_id, text: "héllo" })).toBe(null);
    await broker.call("process_close_stdin", { process_id });
    expect(await readAll(broker, stdout)).toBe("héllo");
    expect(await readAll(broker, stderr)).toBe("bad\n");
    expect(await broker.call("process_wait", { process_id })).toEqual({ exit_code: 4, signal: null });
    const argv = [expect.stringMatching(/^\/.*sh$/), "-c", "cat; echo bad >&2; exit 4"];
    expect(events).toMatchObject([
      { type: "capability", permission: "run", target: "sh", decision: "allowed" },
      { type: "process_spawned", process_id, argv },
      { type: "process_exited", process_id, exit_code: 4, signal: null, duration_ms: expect.any(Number) },
    ]);
  });

  test("is denied without a grant, with the command that would give it", async () => {
    const { broker, events } = await makeBroker();
    const error = await errorOf(run(broker, "git", ["status"]));
    expect(error.toJSON()).toMatchObject({
      code: "permission_denied",
      message: 'Plugin "acme" is not allowed to run "git" yet.',
      hint: "bulkhead plugin grant acme run:git",
    });
    expect(capabilities(events)).toMatchObject([
      { permission: "run", target: "git", decision: "denied", grant_command: "bulkhead plugin grant acme run:git" },
    ]);
  });

  test("quotes a hostile name in that command", async () => {
    const { broker } = await makeBroker();
    const { hint } = await errorOf(run(broker, "x; rm -rf '~' \u001b[2J", []));
    expect(hint).toBe(`bulkhead plugin grant acme 'run:x; rm -rf '\\''~'\\'' \\u{1b}[2J'`);
  });

  test("names the row of the manifest that is lacking, and a yes to it is none to another row", async () => {
    const asked: string[] = [];
    const askGrant = ({ target }: { target: string }) => Promise.resolve(asked.push(target) === 1);
    const ceiling = { run: [{ binary: "echo", args: ["push {}", "status"] }] };
    const { broker, events } = await makeBroker({ ceiling, askGrant });
    const echo = (...args: string[]) => broker.call("run", { binary: "echo", args, options: {} });
    await echo("push", "here");
    await echo("push", "there");
    await expect(echo("status")).rejects.toMatchObject({ hint: "bulkhead plugin grant acme 'run:echo status'" });
    expect(asked).toEqual(["echo push {}", "echo status"]);
    expect(capabilities(events).at(-1)).toMatchObject({
      target: "echo",
      grant_command: "bulkhead plugin grant acme 'run:echo status'",
    });
  });

  test("allows only argument lists that a pattern covers", async () => {
    const { broker } = await makeBroker({ permissions: { run: [{ binary: "echo", args: ["say {}", "-n"] }] } });
    const { stdout } = await run(broker, "echo", ["say", "hi there"]);
    expect(await readAll(broker, stdout)).toBe("say hi there\n");
    for (const args of [["say"], ["say", "-x"], ["say", "@file"], ["say", "a", "b"], [], ["-n", "x"], ["other"]]) {
      expect(await codeOf(run(broker, "echo", args))).toBe("permission_denied");
    }
  });

  test("allows nothing but no arguments where there is no pattern", async () => {
    const { broker } = await makeBroker({ permissions: { run: [{ binary: "true" }, { binary: "false", args: [] }] } });
    await run(broker, "true", []);
    await run(broker, "false", []);
    expect(await codeOf(run(broker, "true", ["x"]))).toBe("permission_denied");
    expect(await codeOf(run(broker, "false", [""]))).toBe("permission_denied");
  });

  test("uses no shell", async () => {
    const { broker, workdir } = await makeBroker({ permissions: { run: [{ binary: "echo", args: ["{...}"] }] } });
    const { stdout } = await run(broker, "echo", ["$(touch x)", "`touch y`", "; touch z", "*"]);
    expect(await readAll(broker, stdout)).toBe("$(touch x) `touch y` ; touch z *\n");
    expect(await readdir(workdir)).toEqual([]);
  });

  test("refuses NUL in arguments and names", async () => {
    const { broker } = await makeBroker({ permissions: shell });
    expect(await codeOf(run(broker, "sh", ["-c", "a\0b"]))).toBe("invalid_request");
    expect(await codeOf(run(broker, "sh\0", []))).toBe("invalid_request");
  });

  test("says binary_missing for a granted program that is not there", async () => {
    const { broker } = await makeBroker({ permissions: { run: [{ binary: "no-such-program-here" }] } });
    expect(await codeOf(run(broker, "no-such-program-here", []))).toBe("binary_missing");
  });

  test("says with binary_missing how to install the program, where the plugin knows", async () => {
    const { broker } = await makeBroker({
      permissions: { run: [{ binary: "no-such-program-here" }, { binary: "toString" }] },
      install: { "no-such-program-here": "npm install -g it" },
    });
    expect(await errorOf(run(broker, "no-such-program-here", []))).toMatchObject({
      hint: "Install it, as its plugin says: npm install -g it",
    });
    expect(await errorOf(run(broker, "toString", []))).toMatchObject({ hint: undefined });
  });

  test("redacts granted values in the recorded arguments and shortens long ones", async () => {
    const { broker, events } = await makeShell(["API_KEY"], { requestEnv: { API_KEY: "very-secret-value" } });
    await runShell(broker, `: very-secret-value ${"x".repeat(9000)}`);
    const [, spawned] = events;
    const text = JSON.stringify(spawned);
    expect(text).toContain("[redacted API_KEY]");
    expect(text).not.toContain("very-secret-value");
    expect(text.length).toBeLessThan(9000);
  });
});

describe("run finds the program", () => {
  test("never in the working directory, even when PATH names it", async () => {
    const { broker, workdir } = await makeBroker({ permissions: { run: [{ binary: "planted-tool" }] } });
    await writeFile(join(workdir, "planted-tool"), "#!/bin/sh\necho stolen", { mode: 0o755 });
    const path = process.env["PATH"];
    try {
      for (const entry of [workdir, ".", ""]) {
        process.env["PATH"] = `${entry}:${path}`;
        expect(await codeOf(run(broker, "planted-tool", []))).toBe("binary_missing");
      }
    } finally {
      process.env["PATH"] = path;
    }
  });

  test("not in a PATH folder that is a link into the working directory", async () => {
    const { broker, root, workdir } = await makeBroker({ permissions: { run: [{ binary: "planted-tool" }] } });
    await writeFile(join(workdir, "planted-tool"), "#!/bin/sh\necho stolen", { mode: 0o755 });
    await symlink(workdir, join(root, "bin"));
    const path = process.env["PATH"];
    try {
      process.env["PATH"] = `${join(root, "bin")}:${path}`;
      expect(await codeOf(run(broker, "planted-tool", []))).toBe("binary_missing");
    } finally {
      process.env["PATH"] = path;
    }
  });

  test("not where the adapter may write, by name or by an absolute path", async () => {
    const { root } = await makeBroker();
    await mkdir(join(root, "tools"));
    const file = join(root, "tools", "planted-tool");
    await writeFile(file, "#!/bin/sh\necho stolen", { mode: 0o755 });
    const permissions = { run: [{ binary: "planted-tool" }, { binary: file }], write: [join(root, "tools")] };
    const writer = await makeBroker({ permissions });
    const path = process.env["PATH"];
    try {
      process.env["PATH"] = `${join(root, "tools")}:${path}`;
      expect(await codeOf(run(writer.broker, "planted-tool", []))).toBe("binary_missing");
    } finally {
      process.env["PATH"] = path;
    }
    expect(await codeOf(run(writer.broker, file, []))).toBe("permission_denied");
    expect(capabilities(writer.events)).toContainEqual({
      type: "capability",
      permission: "run",
      target: file,
      decision: "denied",
    });
  });

  test("by an absolute path, only as it was granted", async () => {
    const { broker } = await makeBroker({ permissions: { run: [{ binary: "/bin/echo", args: ["{}"] }] } });
    expect(await readAll(broker, (await run(broker, "/bin/echo", ["x"])).stdout)).toBe("x\n");
    expect(await codeOf(run(broker, "/bin/../bin/echo", ["x"]))).toBe("permission_denied");
    expect(await codeOf(run(broker, "echo", ["x"]))).toBe("permission_denied");
  });

  test("inside the plugin's folder, and nowhere else", async () => {
    const names: RunPermission[] = ["./tool", "./link", "./../outside"].map((binary) => ({ binary }));
    const { broker, options, root } = await makeBroker({ permissions: { run: names } });
    await writeFile(join(options.pluginDir, "tool"), "#!/bin/sh\necho plugin tool", { mode: 0o755 });
    await writeFile(join(root, "outside"), "#!/bin/sh\necho outside", { mode: 0o755 });
    await symlink("../outside", join(options.pluginDir, "link"));
    expect(await readAll(broker, (await run(broker, "./tool", [])).stdout)).toBe("plugin tool\n");
    expect(await codeOf(run(broker, "./link", []))).toBe("permission_denied");
    expect(await codeOf(run(broker, "./../outside", []))).toBe("permission_denied");
    await chmod(join(options.pluginDir, "tool"), 0o644);
    expect(await codeOf(run(broker, "./tool", []))).toBe("binary_missing");
  });

  test("as the runtime itself for @runtime", async () => {
    const { broker, options } = await makeBroker({ permissions: { run: [{ binary: "@runtime", args: ["{}"] }] } });
    const script = join(options.pluginDir, "hello.mjs");
    await writeFile(script, "console.log('from the runtime');");
    const { stdout } = await run(broker, "@runtime", [script]);
    expect(await readAll(broker, stdout)).toBe("from the runtime\n");
  });
});

describe("run makes the environment", () => {
  test("from nothing: plain names, the mark and granted ones", async () => {
    process.env["BROKER_TEST_HOST"] = "from-host";
    process.env["BROKER_TEST_OTHER"] = "hidden";
    try {
      const { broker, options } = await makeShell(["BROKER_TEST_HOST"]);
      const env = await environment(broker);
      // Deno sets one more, which says what it hands on.
      const allowed = [
        "DENO_EXTRA_STDIO_FDS",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_0",
        "BROKER_TEST_HOST",
        "BULKHEAD_SESSION_MARK",
        "HOME",
        "LANG",
        "NO_COLOR",
        "PATH",
        "TERM",
        "TMPDIR",
        "USER",
      ];
      // The shell itself sets the others.
      const extra = Object.keys(env).filter((name) => ![...allowed, "PWD", "OLDPWD", "SHLVL", "_"].includes(name));
      expect(extra).toEqual([]);
      expect(env).toMatchObject({ BROKER_TEST_HOST: "from-host", TERM: "xterm-256color", NO_COLOR: "1" });
      expect(env).toMatchObject({ TMPDIR: options.tempDir });
    } finally {
      delete process.env["BROKER_TEST_HOST"];
      delete process.env["BROKER_TEST_OTHER"];
    }
  });

  test("of every permission that allows these arguments", async () => {
    const run = [{ ...anyShell, env: ["BROKER_TEST_A"] }, { ...anyShell, args: ["-c env"], env: ["BROKER_TEST_B"] }];
    const requestEnv = { BROKER_TEST_A: "a", BROKER_TEST_B: "b" };
    const { broker } = await makeBroker({ permissions: { run }, requestEnv });
    expect(await environment(broker)).toMatchObject(requestEnv);
  });

  test("with the request before the adapter before the host", async () => {
    process.env["BROKER_TEST_A"] = "host";
    try {
      const { broker } = await makeShell(["BROKER_TEST_A"], { requestEnv: { BROKER_TEST_A: "request" } });
      expect(await environment(broker, { env: { BROKER_TEST_A: "adapter" } })).toMatchObject({
        BROKER_TEST_A: "request",
      });
      const other = await makeShell(["BROKER_TEST_A"]);
      expect(await environment(other.broker, { env: { BROKER_TEST_A: "adapter" } })).toMatchObject({
        BROKER_TEST_A: "adapter",
      });
    } finally {
      delete process.env["BROKER_TEST_A"];
    }
  });

  test("without names that were not granted", async () => {
    const { broker } = await makeShell(["GRANTED"], { requestEnv: { NOT_GRANTED: "x" } });
    expect(await environment(broker)).not.toHaveProperty("NOT_GRANTED");
    expect(await codeOf(runShell(broker, "env", { env: { NOT_GRANTED: "x" } }))).toBe("permission_denied");
    expect(await codeOf(runShell(broker, "env", { env: { "A=B": "x" } }))).toBe("invalid_request");
  });

  test.each(["LD_PRELOAD", "NODE_OPTIONS", "PATH", "BASH_ENV", "GIT_SSH_COMMAND", "DYLD_INSERT_LIBRARIES", "HOME"])(
    "without a %s of adapter or request, granted or not",
    async (name) => {
      const { broker } = await makeShell([name], { requestEnv: { [name]: "/evil" } });
      expect((await environment(broker))[name]).not.toBe("/evil");
      expect(await codeOf(runShell(broker, "env", { env: { [name]: "/evil" } }))).toBe("permission_denied");
    },
  );
});

describe("run's folder", () => {
  test("is the working directory or one inside it", async () => {
    const { broker, workdir } = await makeBroker({ permissions: shell });
    await mkdir(join(workdir, "sub"));
    expect((await readAll(broker, (await runShell(broker, "pwd")).stdout)).trim()).toBe(workdir);
    const inner = await runShell(broker, "pwd", { cwd: "sub" });
    expect((await readAll(broker, inner.stdout)).trim()).toBe(await realpath(join(workdir, "sub")));
  });

  test("is never outside, by no name and no link", async () => {
    const { broker, root, workdir } = await makeBroker({ permissions: shell });
    await symlink(root, join(workdir, "out"));
    await mkdir(`${workdir}-evil`);
    for (const cwd of ["..", "/", root, "out", "../workdir-evil"]) {
      expect(await codeOf(runShell(broker, "pwd", { cwd }))).toBe("permission_denied");
    }
    expect(await codeOf(runShell(broker, "pwd", { cwd: "missing" }))).toBe("not_found");
  });
});

describe("run asks a person", () => {
  function asker(answer: boolean) {
    const asked: MissingGrant[] = [];
    return {
      asked,
      askGrant: async (missing: MissingGrant) => {
        asked.push(missing);
        await new Promise((resolve) => setTimeout(resolve, 20));
        return answer;
      },
    };
  }

  test("for a missing grant, once while the question is open, and runs on a yes", async () => {
    const { asked, askGrant } = asker(true);
    const { broker, events } = await makeBroker({ askGrant });
    const both = await Promise.all([run(broker, "echo", ["a"]), run(broker, "echo", ["a"])]);
    expect(await readAll(broker, both[0].stdout)).toBe("a\n");
    expect(asked).toEqual([{
      plugin_id: "acme",
      permission: "run",
      target: "echo",
      grant_command: "bulkhead plugin grant acme run:echo",
    }]);
    expect(capabilities(events)).toMatchObject([{ target: "echo", decision: "allowed" }]);
  });

  test("and a yes without a ceiling covers these arguments only", async () => {
    const { asked, askGrant } = asker(true);
    const { broker } = await makeBroker({ askGrant });
    await run(broker, "echo", ["a"]);
    await run(broker, "echo", ["a"]);
    await run(broker, "echo", ["b"]);
    expect(asked).toHaveLength(2);
  });

  test("and a no is denied, and stays so", async () => {
    const { asked, askGrant } = asker(false);
    const { broker } = await makeBroker({ askGrant });
    expect(await codeOf(run(broker, "echo", ["a"]))).toBe("permission_denied");
    expect(await codeOf(run(broker, "echo", ["a"]))).toBe("permission_denied");
    expect(asked).toHaveLength(1);
  });

  test("but not for what the ceiling does not hold", async () => {
    const { asked, askGrant } = asker(true);
    const ceiling = { run: [{ binary: "echo", args: ["hi {}"] }] };
    const { broker } = await makeBroker({ askGrant, ceiling });
    expect(await codeOf(run(broker, "sh", ["-c", "id"]))).toBe("permission_denied");
    expect(await codeOf(run(broker, "echo", ["ho", "x"]))).toBe("permission_denied");
    expect(asked).toHaveLength(0);
    await run(broker, "echo", ["hi", "x"]);
    await run(broker, "echo", ["hi", "y"]);
    expect(asked).toHaveLength(1);
  });

  test("and a question that fails is a no", async () => {
    const { broker } = await makeBroker({ askGrant: () => Promise.reject(new Error("terminal gone")) });
    expect(await codeOf(run(broker, "echo", ["a"]))).toBe("permission_denied");
  });

  test("and starts nothing when the session ends before the yes", async () => {
    let say: (yes: boolean) => void = () => {};
    const { broker, events } = await makeBroker({ askGrant: () => new Promise((resolve) => (say = resolve)) });
    const pending = codeOf(run(broker, "echo", ["a"]));
    await broker.close();
    expect(await pending).toBe("interrupted");
    say(true);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(events.filter((event) => event.type === "process_spawned")).toEqual([]);
  });
});

describe("run's limits", () => {
  test("hold the number of programs, by host and by permission", async () => {
    const permissions = { ...shell, limits: { children: 2 } };
    const { broker } = await makeBroker({ permissions, limits: { ...defaultLimits, agent_grace_ms: 50 } });
    const first = await runShell(broker, "exec sleep 60");
    await runShell(broker, "exec sleep 60");
    expect(await codeOf(runShell(broker, "true"))).toBe("limit_exceeded");
    await broker.call("process_kill", { process_id: first.process_id });
    await broker.call("process_wait", { process_id: first.process_id });
    await runShell(broker, "true");
  });

  test("hold how many programs are started in a minute", async () => {
    const run = [{ binary: "true" }];
    const { broker } = await makeBroker({
      permissions: { run },
      limits: { ...defaultLimits, child_starts_per_minute: 3 },
    });
    const start = () =>
      broker.call("run", { binary: "true", args: [], options: {} }) as Promise<{ process_id: number }>;
    for (let count = 0; count < 3; count++) {
      await broker.call("process_wait", { process_id: (await start()).process_id });
    }
    const error = await errorOf(start());
    expect(error.toJSON()).toMatchObject({ code: "limit_exceeded", details: { child_starts_per_minute: 3 } });
  });

  test("count no program that could not be started", async () => {
    const run = [{ binary: "/bin/echo" }, { binary: "no-such-program-here" }];
    const { broker } = await makeBroker({ permissions: { run, limits: { children: 1 } } });
    const missing = broker.call("run", { binary: "no-such-program-here", args: [], options: {} });
    expect(await codeOf(missing)).toBe("binary_missing");
    await broker.call("run", { binary: "/bin/echo", args: [], options: {} });
  });
});

describe("process_kill", () => {
  test("ends the whole tree of this program and leaves the others", async () => {
    const { broker } = await makeBroker({ permissions: shell });
    const one = await runShell(broker, "setsid sleep 60 & echo $!; wait");
    const two = await runShell(broker, "echo $$; exec sleep 60");
    const inner = Number(await broker.call("stream_read", { stream_id: one.stdout }));
    const other = Number(await broker.call("stream_read", { stream_id: two.stdout }));
    await broker.call("process_kill", { process_id: one.process_id });
    expect(await broker.call("process_wait", { process_id: one.process_id })).toMatchObject({ signal: "SIGTERM" });
    expect([isRunning(inner), isRunning(other)]).toEqual([false, true]);
  });

  test("says not_found for a process of another session", async () => {
    const { broker } = await makeBroker({ permissions: shell });
    for (const operation of ["process_kill", "process_wait", "process_close_stdin"]) {
      expect(await codeOf(broker.call(operation, { process_id: 1 }))).toBe("not_found");
    }
  });
});

describe("close", () => {
  test("ends every program with its daemons, tells each exit, and leaves no process and no file", async () => {
    const { broker, events, options, workdir } = await makeBroker({ permissions: shell });
    await runShell(broker, "trap '' TERM; while :; do sleep 0.05; done");
    const daemon = await runShell(
      broker,
      "setsid sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.05; done' & exit 0",
    );
    await broker.call("process_wait", { process_id: daemon.process_id });
    let pid = 0;
    while (pid === 0) pid = Number(await readFile(join(workdir, "pid"), "utf8").catch(() => "0"));
    const mark = (await readFile(`/proc/${pid}/environ`, "utf8")).match(/BULKHEAD_SESSION_MARK=([0-9a-f]+)/)?.[1] ?? "";
    await broker.call("temp_write", { name: "x", text: "y" });
    await broker.close();
    expect(isRunning(pid)).toBe(false);
    const left = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && hasMark(Number(name), mark));
    expect(left).toEqual([]);
    await expect(readdir(options.tempDir)).rejects.toMatchObject({ code: "ENOENT" });
    const spawned = events.filter((event) => event.type === "process_spawned").map((event) => event.process_id);
    const exited = events.filter((event) => event.type === "process_exited").map((event) => event.process_id);
    expect(exited.sort()).toEqual(spawned.sort());
  });
});

/** A dead process that nobody has collected yet does not run. */
function isRunning(pid: number): boolean {
  return readRow(pid)?.zombie === false;
}
