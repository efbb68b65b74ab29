import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { afterEveryTest } from "../../clean-up.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import {
  anyShell,
  type BrokerChanges,
  capabilities,
  errorOf,
  makeBroker,
  readAll,
  runShell,
} from "./broker-fixture.ts";

const ownHome = process.env["HOME"];
afterEach(() => {
  process.env["HOME"] = ownHome;
  delete process.env["SH_HOME"];
});

const servers: { close(): void; closeAllConnections(): void }[] = [];
afterEveryTest(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  return Promise.resolve();
});

/** A model that answers everything with what it was asked. */
async function openModel(): Promise<
  { port: number; requests: { url: string | undefined; headers: IncomingMessage["headers"]; body: string }[] }
> {
  const requests: { url: string | undefined; headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    requests.push({ url: request.url, headers: request.headers, body });
    response.end(`answer ${request.url?.replace(/\?.*/, "")}`);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, requests };
}

async function makeAgent(changes: BrokerChanges = {}) {
  const fixture = await makeBroker({
    permissions: { run: [anyShell] },
    containPrograms: true,
    programNet: [],
    ...changes,
  });
  const home = join(fixture.root, "home");
  await mkdir(home);
  process.env["HOME"] = home;
  Object.assign(fixture.options, { protectedPaths: [join(fixture.root, "state")] });
  return { ...fixture, home };
}

async function output(broker: Parameters<typeof runShell>[0], script: string): Promise<string> {
  const { stdout, stderr } = await runShell(broker, script);
  const [out, err] = await Promise.all([readAll(broker, stdout), readAll(broker, stderr)]);
  return out + err;
}

/** Asks past the proxy. */
const get = (url: string) => `curl -s --noproxy "*" ${url} || echo refused $?`;

describe("an agent's walls", () => {
  test("keep files of root from a program of root, but for one that is granted", async (context) => {
    await needsWall(context, "bubblewrap");
    const look = "cat /etc/shadow 2>/dev/null; cat /etc/passwd > /dev/null && echo open";
    const { broker } = await makeAgent();
    expect(await output(broker, look)).toBe("open\n");
    const workdir = await makeBroker({ permissions: { run: [{ ...anyShell, contain: "workdir" }] } });
    expect(await output(workdir.broker, look)).toBe("open\n");
    const granted = await makeAgent({ programRead: ["/etc/shadow"] });
    const isRoot = process.getuid?.() === 0;
    expect(await output(granted.broker, look)).toMatch(isRoot ? /^root:[^]*open\n$/ : /^open\n$/);
  });

  test("its home is private and is gone with the session", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, home, root } = await makeAgent();
    await writeFile(join(home, "notes.txt"), "private");
    expect(await output(broker, "cat ~/notes.txt; echo mine > ~/notes.txt; cat ~/notes.txt")).toMatch(
      /No such file[^]*|mine/,
    );
    // The second program of a session finds what the first left.
    expect(await output(broker, "cat ~/notes.txt")).toBe("mine\n");
    expect(await readFile(join(home, "notes.txt"), "utf8")).toBe("private");
    await broker.close();
    expect(await readdir(join(root, "state"))).toEqual([]);
  });

  test("the operator can name a folder of settings to be shown; an adapter and a client cannot", async (context) => {
    await needsWall(context, "bubblewrap");
    const permission = { ...anyShell, env: ["SH_HOME"] };
    const { broker, home, options } = await makeAgent({ permissions: { run: [permission] } });
    const other = join(home, "elsewhere");
    await mkdir(other);
    await writeFile(join(other, "config"), "shown");
    const asked = await broker.call("run", {
      binary: "sh",
      args: ["-c", `cat ${other}/config`],
      options: { env: { SH_HOME: other } },
    }) as { stdout: number };
    expect(await readAll(broker, asked.stdout)).toBe("");
    const places = [other, home, `${options.workdir}/../elsewhere`, `${options.workdir}-2`];
    for (const [index, place] of places.entries()) {
      const tempDir = `${options.tempDir}-c${index}`;
      const client = await makeBroker({ ...options, tempDir, requestEnv: { SH_HOME: place } });
      expect(await errorOf(runShell(client.broker, "true"))).toMatchObject({
        code: "permission_denied",
        message: expect.stringContaining("Cannot use SH_HOME of the request"),
      });
    }
    await mkdir(join(options.workdir, "own"));
    const requestEnv = { SH_HOME: `${options.workdir}/own` };
    const inside = await makeBroker({ ...options, tempDir: `${options.tempDir}-in`, requestEnv });
    expect(await output(inside.broker, "echo x > $SH_HOME/made; cat $SH_HOME/made")).toBe("x\n");
    process.env["SH_HOME"] = other;
    const second = await makeBroker({ ...options, tempDir: `${options.tempDir}-2` });
    expect(await output(second.broker, `cat ${other}/config; echo evil > ${other}/config`)).toBe("shown");
    expect(await readFile(join(other, "config"), "utf8")).toBe("shown");
  });

  test("the project's guarded places cannot be changed, and what the operator spelled out can", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, workdir } = await makeAgent({
      permissions: { run: [anyShell], write: ["workdir", "workdir:AGENTS.md"] },
      spelledRoots: ["workdir", "workdir:AGENTS.md"],
    });
    await mkdir(join(workdir, ".git", "hooks"), { recursive: true });
    for (const name of ["AGENTS.md", "CLAUDE.md", "main.c"]) await writeFile(join(workdir, name), "old\n");
    await output(
      broker,
      "for f in AGENTS.md CLAUDE.md main.c .git/hooks/x .github/x .gitignore; do echo new > $f; done",
    );
    expect(await readFile(join(workdir, "AGENTS.md"), "utf8")).toBe("new\n");
    expect(await readFile(join(workdir, "CLAUDE.md"), "utf8")).toBe("old\n");
    expect(await readFile(join(workdir, "main.c"), "utf8")).toBe("new\n");
    expect(await readdir(join(workdir, ".git", "hooks"))).toEqual([]);
  });

  test("the empty folders that keep guarded places go with the last session that needs them", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, workdir, options, events } = await makeAgent();
    const second = await makeBroker({ ...options, tempDir: `${options.tempDir}-2` });
    await output(broker, "true");
    await output(second.broker, "true");
    expect(await readdir(workdir)).toContain(".github");
    await broker.close();
    // They are still there, and no agent made them.
    expect(capabilities(events).filter(({ permission }) => permission === "write")).toEqual([]);
    expect(await output(second.broker, "echo x > .github/x")).toContain("Read-only");
    await second.broker.close();
    expect(await readdir(workdir)).toEqual([]);
  });

  test("a guarded file that a project did not have is told of at the end", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, events } = await makeAgent();
    await output(broker, "echo x > .gitlab-ci.yml; echo y > main.c");
    await broker.close();
    expect(capabilities(events).filter(({ permission }) => permission === "write")).toEqual([
      { type: "capability", permission: "write", target: "workdir:.gitlab-ci.yml", decision: "allowed" },
    ]);
  });

  test("a program without walls of its own changes what it likes, where the grant says so", async () => {
    const { broker, home } = await makeAgent({ permissions: { run: [{ ...anyShell, contain: "off" }] } });
    await output(broker, "echo x > ~/new");
    expect(await readdir(home)).toEqual(["new"]);
  });
});

describe("an agent's network", () => {
  test("a granted port of the machine is reached by its own address, and every other place is denied by name", async (context) => {
    await needsWall(context, "bubblewrap");
    const model = await openModel();
    const other = await openModel();
    const { broker, events } = await makeAgent({ programNet: [`127.0.0.1:${model.port}`] });
    expect(await output(broker, get(`http://127.0.0.1:${model.port}/direct`))).toBe("answer /direct");
    expect(await output(broker, get(`http://127.0.0.1:${other.port}/`))).toBe("refused 7\n");
    const proxied = `curl -s -x "$HTTP_PROXY" --noproxy "" http://127.0.0.1:${other.port}/`;
    expect(await output(broker, proxied)).toContain(`bulkhead plugin grant acme net:127.0.0.1:${other.port}`);
    expect(other.requests).toEqual([]);
    expect(capabilities(events).filter(({ permission }) => permission === "net")).toMatchObject([
      { target: `127.0.0.1:${model.port}`, decision: "allowed" },
      { target: `127.0.0.1:${other.port}`, decision: "denied" },
    ]);
  });

  test("a person who is asked about a place lets it through, once for all of the session", async (context) => {
    await needsWall(context, "bubblewrap");
    const model = await openModel();
    const asked: string[] = [];
    const { broker } = await makeAgent({
      askGrant: ({ target }) => {
        asked.push(target);
        return Promise.resolve(true);
      },
      ceiling: { run: [anyShell] },
    });
    const once = `curl -s -x "$HTTP_PROXY" --noproxy "" http://127.0.0.1:${model.port}/a;`;
    expect(await output(broker, once + once)).toBe("answer /aanswer /a");
    expect(asked).toEqual([`127.0.0.1:${model.port}`]);
    expect(broker.uses.hosts).toEqual({ [`127.0.0.1:${model.port}`]: { allowed: 2, denied: 0 } });
  });

  test("a session's client is asked about hosts that programs call, and about nothing else", async (context) => {
    await needsWall(context, "bubblewrap");
    const model = await openModel();
    const asked: string[] = [];
    const { broker } = await makeAgent({
      askHost: ({ target }) => {
        asked.push(target);
        return Promise.resolve(target.endsWith(`:${model.port}`));
      },
    });
    const call = (port: number) =>
      `curl -s -o /dev/null -w "%{http_code} " -x "$HTTP_PROXY" --noproxy "" http://127.0.0.1:${port}/;`;
    expect(await output(broker, call(model.port) + call(1) + call(1))).toBe("200 403 403 ");
    await expect(broker.call("read_file", { path: "/etc/passwd" })).rejects.toThrow();
    expect(asked).toEqual([`127.0.0.1:${model.port}`, "127.0.0.1:1"]);
    expect(broker.uses.hosts).toMatchObject({ "127.0.0.1:1": { allowed: 0, denied: 2 } });
  });

  test("a host of housekeeping, and a denied one, are refused without a question; the first is told quietly", async (context) => {
    await needsWall(context, "bubblewrap");
    const asked: string[] = [];
    const denied = ["127.0.0.1:2"];
    let toolRuns = false;
    const { broker, events } = await makeAgent({
      askGrant: ({ target }) => {
        asked.push(target);
        // The answer is "never".
        denied.push(target);
        return Promise.resolve(false);
      },
      refusedNet: {
        denied: () => denied,
        housekeeping: ["127.0.0.1:1"],
        toolRuns: () => toolRuns,
      },
    });
    const call = (port: number) =>
      `curl -s -o /dev/null -w "%{http_code} " -x "$HTTP_PROXY" --noproxy "" http://127.0.0.1:${port}/;`;
    expect(await output(broker, call(1) + call(1) + call(2))).toBe("403 403 403 ");
    expect(asked).toEqual([]);
    expect(capabilities(events).filter(({ permission }) => permission === "net")).toMatchObject([
      { target: "127.0.0.1:1", decision: "denied", needed: false },
      { target: "127.0.0.1:2", decision: "denied", grantable: false },
    ]);
    expect(broker.uses.hosts).toEqual({
      "127.0.0.1:1": { allowed: 0, denied: 0, not_needed: 2 },
      "127.0.0.1:2": { allowed: 0, denied: 1 },
    });
    // A tool that runs may well want the host.
    toolRuns = true;
    await output(broker, call(1));
    expect(asked).toEqual(["127.0.0.1:1"]);
    expect(capabilities(events).at(-1)).toMatchObject({ target: "127.0.0.1:1", decision: "denied", grantable: false });
    expect(capabilities(events).at(-1)).not.toHaveProperty("needed");
  });

  test("a host of housekeeping that a tool was refused is not told once more, and counts", async (context) => {
    await needsWall(context, "bubblewrap");
    let toolRuns = true;
    const { broker, events } = await makeAgent({
      refusedNet: { housekeeping: ["127.0.0.1:1"], toolRuns: () => toolRuns },
    });
    const call = `curl -s -o /dev/null -w "%{http_code} " -x "$HTTP_PROXY" --noproxy "" http://127.0.0.1:1/;`;
    await output(broker, call);
    toolRuns = false;
    expect(await output(broker, call)).toBe("403 ");
    const told = capabilities(events).filter(({ permission }) => permission === "net");
    expect(told).toMatchObject([{ target: "127.0.0.1:1", decision: "denied" }]);
    expect(told[0]).not.toHaveProperty("needed");
    expect(broker.uses.hosts).toEqual({ "127.0.0.1:1": { allowed: 0, denied: 1, not_needed: 1 } });
  });

  test("a question that is open when the session ends is taken back, and its host counts as denied", async (context) => {
    await needsWall(context, "bubblewrap");
    const signals: AbortSignal[] = [];
    const { broker, events } = await makeAgent({
      askGrant: (_missing, signal) =>
        new Promise((resolve) => {
          signals.push(signal);
          signal.addEventListener("abort", () => resolve(false));
        }),
    });
    const { stdout } = await runShell(broker, `curl -s -x "$HTTP_PROXY" --noproxy "" http://127.0.0.1:1/`);
    void readAll(broker, stdout).catch(() => {});
    await expect.poll(() => signals).toHaveLength(1);
    await broker.close();
    expect(signals[0]?.aborted).toBe(true);
    expect(capabilities(events)).toContainEqual(expect.objectContaining({ target: "127.0.0.1:1", decision: "denied" }));
    expect(broker.uses.hosts).toMatchObject({ "127.0.0.1:1": { denied: 1 } });
  });

  test("the program never holds the key: the proxy puts it into the request", async (context) => {
    await needsWall(context, "bubblewrap");
    const model = await openModel();
    const key = "sk-ant-api03-the-real-key-of-the-person";
    const { broker } = await makeAgent({
      permissions: { run: [{ ...anyShell, env: ["MODEL_KEY", "MODEL_URL"] }] },
      programNet: [`127.0.0.1:${model.port}`],
      requestEnv: { MODEL_KEY: key, MODEL_URL: `http://127.0.0.1:${model.port}/base` },
      endpoints: [{ program: "sh", key: "MODEL_KEY", base_url: "MODEL_URL", url: "https://api.example.com" }],
    });
    const text = await output(
      broker,
      'cat /proc/*/environ | tr "\\0" "\\n"; curl -s -H "x-api-key: $MODEL_KEY" -d "{}" "$MODEL_URL/v1/messages?key=$MODEL_KEY"',
    );
    expect(text).not.toContain("the-real-key");
    expect(text).toMatch(/^MODEL_KEY=sk-ant-api03-[0-9a-f]{32}$/m);
    expect(text).toContain("answer /base/v1/messages");
    expect(model.requests).toMatchObject([
      {
        url: `/base/v1/messages?key=${key}`,
        headers: { "x-api-key": key, host: `127.0.0.1:${model.port}` },
        body: "{}",
      },
    ]);
  });

  test("a session without a way to its hosts has no network at all", async (context) => {
    await needsWall(context, "bubblewrap");
    const { options } = await makeAgent();
    const { programNet: _, ...without } = options;
    const { broker } = await makeBroker({ ...without, tempDir: `${options.tempDir}-2` });
    expect(await output(broker, "echo proxy:$HTTP_PROXY; cat /proc/net/dev | tail -n +3 | wc -l")).toBe("proxy:\n1\n");
  });
});

describe("a program that may not run yet", () => {
  async function made() {
    let begin = () => {};
    let refuse = (_: Error) => {};
    const workMayBegin = new Promise<void>((resolve, reject) => ([begin, refuse] = [resolve, reject]));
    // It may fail before anything has asked for it.
    workMayBegin.catch(() => {});
    const agent = await makeAgent({ workMayBegin });
    const running = runShell(agent.broker, "echo began > began");
    running.catch(() => {});
    const began = () => readFile(join(agent.workdir, "began"), "utf8").catch(() => null);
    const typesOf = () => agent.events.map(({ type }) => type).filter((type) => type.startsWith("process"));
    // On the other runtime it starts later.
    if (!("Deno" in globalThis)) await expect.poll(typesOf).toEqual(["process_spawned"]);
    await setTimeout(200);
    expect(await began()).toBeNull();
    return { ...agent, begin, refuse, running, began, typesOf };
  }

  test("is put behind its walls and waits", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, begin, running, began } = await made();
    begin();
    const { process_id } = await running;
    expect(await broker.call("process_wait", { process_id })).toEqual({ exit_code: 0, signal: null });
    expect(await began()).toBe("began\n");
  });

  test("never runs when what it waits for fails", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, refuse, running, began, typesOf } = await made();
    refuse(new BulkheadError("io_error", "There is no snapshot."));
    expect(await errorOf(running)).toMatchObject({ message: "There is no snapshot." });
    await broker.close();
    expect(await began()).toBeNull();
    expect(typesOf()).toEqual("Deno" in globalThis ? [] : ["process_spawned", "process_exited"]);
  });

  test("never runs when the session ends first", async (context) => {
    await needsWall(context, "bubblewrap");
    const { broker, begin, running, began, typesOf } = await made();
    const closing = broker.close();
    begin();
    await closing;
    await running.catch(() => {});
    await setTimeout(100);
    expect(await began()).toBeNull();
    expect(typesOf()).toEqual("Deno" in globalThis ? [] : ["process_spawned", "process_exited"]);
  });
});
