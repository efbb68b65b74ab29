import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { commandChain } from "../../../core/ground/platform/os-walls/command-chain.ts";
import { containAgent } from "../../../core/walls/agent/contain-agent.ts";
import { listProcesses } from "../../../core/ground/platform/processes/process-rows.ts";
import type { Permissions, RunPermission } from "../../../plugin-sdk/permissions.ts";
import { anyShell, makeBroker, readAll, runShell } from "../broker/broker-fixture.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";

const contained: RunPermission = { ...anyShell, contain: "workdir" };

async function makeContained(
  permission = contained,
  changes: (root: string) => Partial<SessionBrokerOptions> = () => ({}),
) {
  const fixture = await makeBroker({ permissions: { run: [permission] } });
  // The folders of the fixture are known only now, and what is protected lies among them.
  Object.assign(fixture.options, changes(fixture.root));
  return fixture;
}

async function output(broker: Parameters<typeof runShell>[0], script: string): Promise<string> {
  const { stdout, stderr } = await runShell(broker, script);
  const [out, err] = await Promise.all([readAll(broker, stdout), readAll(broker, stderr)]);
  return out + err;
}

describe("a contained agent", () => {
  test("writes the working directory and its temporary folder, and nowhere else", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, root, workdir, options } = await makeContained();
    const places = [root, `${root}/plugin`, "/etc", "/var/tmp", "/run", "/home", "/usr", "/"];
    const tries = places.map((place) => `echo x > ${place}/bulkhead-escaped && echo wrote ${place};`).join(" ");
    const text = await output(
      broker,
      `echo here > made; echo there > $TMPDIR/made; echo tmp > /tmp/own; ${tries} true`,
    );
    // For `/tmp` it has a folder of its own, and what lies there is in that.
    expect(text.replace(`wrote ${root}\n`, "")).not.toContain("wrote");
    expect(await readFile(join(workdir, "made"), "utf8")).toBe("here\n");
    expect(await readFile(join(options.tempDir, "made"), "utf8")).toBe("there\n");
    expect(existsSync("/tmp/own")).toBe(false);
    for (const place of places) expect(existsSync(join(place, "bulkhead-escaped"))).toBe(false);
  });

  test("opens its standard streams by their names", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker } = await makeContained();
    expect(await output(broker, "echo one > /dev/stderr; echo two | tee /dev/stderr; cat /dev/stdin")).toBe(
      "two\none\ntwo\n",
    );
  });

  test("is what the grant makes it: without `contain` the same program writes beside the working directory", async () => {
    const { broker, root } = await makeContained(anyShell);
    await output(broker, `echo x > ${root}/outside`);
    expect(existsSync(join(root, "outside"))).toBe(true);
  });

  test("finds nothing of the host's state, nor of a link that leads there", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, root, workdir } = await makeContained(contained, (folder) => ({
      protectedPaths: [join(folder, "state"), join(folder, "bulkhead.yaml")],
    }));
    await mkdir(join(root, "state", "data"), { recursive: true });
    await writeFile(join(root, "state", "journal"), "SECRET");
    await writeFile(join(root, "bulkhead.yaml"), "SECRET");
    await symlink(join(root, "state"), join(workdir, "link"));
    const files = `${root}/state/journal link/journal ${root}/bulkhead.yaml`;
    expect(await output(broker, `cat ${files}`)).not.toContain("SECRET");
    // What the session itself has there.
    expect(await output(broker, `ls ${root}/state`)).toBe("temp\n");
  });

  test("cannot change a plugin's package that lies in its working directory", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, workdir } = await makeContained(contained, (folder) => ({
      sealedPaths: [join(folder, "workdir", "plugins", "acme")],
    }));
    await mkdir(join(workdir, "plugins", "acme"), { recursive: true });
    await output(
      broker,
      "echo x > plugins/acme/mod.ts; echo y > plugins/beside; mv plugins p2 && cp -r p2 plugins; echo x > plugins/acme/mod.ts",
    );
    expect(await readdir(join(workdir, "plugins"))).toEqual(["acme", "beside"]);
    expect(await readdir(join(workdir, "plugins", "acme"))).toEqual([]);
  });

  test("sees only its own processes, and has the network unless it is taken away", async (context) => {
    await needsWall(context, "bubblewrap");
    const server = createServer((socket) => socket.end("reached\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const script = `ls -d /proc/[0-9]* | wc -l; kill -0 ${process.pid} || echo none; ` +
      `LC_ALL=C bash -c 'cat < /dev/tcp/127.0.0.1/${port}'`;
    try {
      const open = await makeContained();
      expect(await output(open.broker, script)).toMatch(/^[1-6]\n(?=[^]*none)[^]*reached/);
      const offline = await makeContained({ ...anyShell, contain_net: true });
      const text = await output(offline.broker, script);
      expect(text).not.toContain("reached");
      expect(text).toContain("Connection refused");
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test("gets SIGTERM and its grace, and takes its whole tree along", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, workdir, events } = await makeContained(contained, () => ({}));
    const { process_id, stdout } = await runShell(
      broker,
      "trap 'echo asked > asked; exit 7' TERM; setsid sleep 300 & (sleep 300 &) ; echo up; while :; do sleep 0.05; done",
    );
    expect(await broker.call("stream_read", { stream_id: stdout })).toBe("up\n");
    const outer = events.flatMap((event) => event.type === "process_spawned" ? [event.pid] : [])[0]!;
    const inside = await descendants(outer);
    expect(inside.length).toBeGreaterThanOrEqual(4);
    await broker.call("process_kill", { process_id });
    expect(await broker.call("process_wait", { process_id })).toEqual({ exit_code: 7, signal: null });
    expect(await readFile(join(workdir, "asked"), "utf8")).toBe("asked\n");
    const living = new Set((await listProcesses("none") ?? []).filter((row) => !row.zombie).map((row) => row.pid));
    expect([outer, ...inside].filter((pid) => living.has(pid))).toEqual([]);
  });

  test("dies when it ignores SIGTERM, and at once when what contains it is killed", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, events } = await makeContained();
    const stubborn =
      "trap '' TERM; (trap '' TERM; setsid sh -c 'while :; do sleep 0.05; done') & echo up; while :; do sleep 0.05; done";
    const { process_id, stdout } = await runShell(broker, stubborn);
    expect(await broker.call("stream_read", { stream_id: stdout })).toBe("up\n");
    const outer = events.flatMap((event) => event.type === "process_spawned" ? [event.pid] : []);
    const inside = await descendants(outer[0]!);
    await broker.call("process_kill", { process_id });
    expect(await alive(inside)).toEqual([]);

    const second = await runShell(broker, stubborn);
    expect(await broker.call("stream_read", { stream_id: second.stdout })).toBe("up\n");
    const pid = events.flatMap((event) => event.type === "process_spawned" ? [event.pid] : [])[1]!;
    const tree = await descendants(pid);
    expect(tree.length).toBeGreaterThanOrEqual(3);
    process.kill(pid, "SIGKILL");
    await broker.call("process_wait", { process_id: second.process_id });
    for (let tries = 0; tries < 200 && (await alive(tree)).length > 0; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(await alive(tree)).toEqual([]);
  });
});

describe("a program without `contain`", () => {
  // Its mark is gone with the environment, its parent and its session with the second fork.
  const leaves = "(setsid env -i /bin/sleep 307.25 >/dev/null 2>&1 &) ; sleep 0.2; exit 3";
  const left = async () =>
    (await listProcesses("none") ?? []).flatMap(({ pid, zombie }) => zombie ? [] : [pid])
      .filter((pid) => commandOf(pid) === "/bin/sleep\u0000307.25\u0000");

  test("takes along what it daemonised with an environment of its own", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker } = await makeBroker({ permissions: { run: [anyShell] }, ownPids: true });
    const { process_id } = await runShell(broker, leaves);
    expect(await broker.call("process_wait", { process_id })).toEqual({ exit_code: 3, signal: null });
    await broker.close();
    expect(await left()).toEqual([]);
  });

  test("leaves it behind where the operator turned that off: the test can fail", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker } = await makeBroker({ permissions: { run: [anyShell] } });
    const { process_id } = await runShell(broker, leaves);
    await broker.call("process_wait", { process_id });
    await broker.close();
    const pids = await left();
    for (const pid of pids) process.kill(pid, "SIGKILL");
    expect(pids).toHaveLength(1);
  });
});

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

async function alive(pids: readonly number[]): Promise<number[]> {
  const rows = await listProcesses("none") ?? [];
  const living = new Set(rows.filter((row) => !row.zombie).map((row) => row.pid));
  return pids.filter((pid) => living.has(pid));
}

async function descendants(root: number): Promise<number[]> {
  const rows = await listProcesses("none") ?? [];
  const found = new Set([root]);
  for (let before = 0; before !== found.size;) {
    before = found.size;
    for (const row of rows) if (found.has(row.ppid)) found.add(row.pid);
  }
  found.delete(root);
  return [...found];
}

describe("what the kernel offers to root", () => {
  test("cannot be changed from inside, though it can be read", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker } = await makeContained();
    const knobs = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/self/oom_score_adj"];
    // Opened for appending and nothing written: where the wall fails, the machine stays as it is.
    const script = knobs.map((knob) => `( : >> ${knob} ) 2>/dev/null && echo opened ${knob};`).join(" ");
    const text = await output(
      broker,
      `${script} cat /proc/sys/kernel/ostype; find /proc/sys /sys -writable 2>/dev/null`,
    );
    expect(text).toBe("Linux\n");
  });

  test("stays closed to a program whose working directory is the whole disk", async (context) => {
    await needsWall(context, "bubblewrap");
    const tmp = await mkdtemp(join(tmpdir(), "bulkhead-whole-"));
    try {
      // Opened for appending and nothing written, as above.
      const knobs = ["/proc/sys/kernel/core_pattern", "/sys/kernel/mm/transparent_hugepage/enabled"];
      const script = knobs.map((knob) => `( : >> ${knob} ) 2>/dev/null && echo opened ${knob};`).join(" ");
      const args = ["-c", `${script} ls -d /proc/[0-9]* | wc -l; echo x > /dev/null && echo devices`];
      // Not through a broker: programs that stand where the session may write are refused there, all but the runtime.
      const { file, args: inside, cwd, env } = await commandChain(
        await containAgent(
          { file: "/bin/sh", args, cwd: "/", env: { PATH: "/usr/bin:/bin" } },
          { writable: ["/"], tmp, hidden: [], shown: [], network: "none" },
        ),
      );
      const { stdout } = await promisify(execFile)(file, [...inside], { cwd, env, timeout: 10_000 });
      expect(stdout).toMatch(/^[1-6]\ndevices\n$/);
    } finally {
      await rm(tmp, { recursive: true, force: true });
    }
  });

  test("logins of agents are hidden, but the plugin's own", async (context) => {
    await needsWall(context, "bubblewrap");
    const home = await mkdtemp(join(tmpdir(), "bulkhead-home-"));
    const before = process.env["HOME"];
    process.env["HOME"] = home;
    try {
      const places = [
        ".claude/.credentials.json",
        ".codex/auth.json",
        ".gemini/oauth_creds.json",
        ".ssh/id_ed25519",
        ".local/share/opencode/auth.json",
        ".local/share/amazon-q/data.sqlite3",
        ".config/github-copilot/apps.json",
        ".electrum/wallet",
        ".claude.json",
      ];
      for (const place of places) {
        await mkdir(dirname(join(home, place)), { recursive: true });
        await writeFile(join(home, place), `LOGIN ${place}`);
      }
      const read = async (permissions: Partial<Permissions>) => {
        const { broker } = await makeBroker({ permissions: { run: [contained], ...permissions } });
        return await output(broker, places.map((place) => `cat ${home}/${place} 2>/dev/null; echo;`).join(" "));
      };
      expect(await read({})).not.toContain("LOGIN");
      const own = await read({ read: ["config:codex"] });
      expect(own.match(/LOGIN \S+/g)).toEqual(["LOGIN .codex/auth.json"]);
    } finally {
      process.env["HOME"] = before;
      await rm(home, { recursive: true, force: true });
    }
  });
});
