import { mkdir, readdir, writeFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkWorkdir } from "../../../core/sessions/host/check-request.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import {
  adapterCode,
  childrenLeft,
  completed,
  errorOf,
  isolations,
  openHost,
  type TestHost,
  writePlugin,
} from "./test-host.ts";

const works = adapterCode(`    yield ${completed};`);

/** Nothing was begun: no event, no file of the session, no process. */
async function expectNothingDone({ host, stateDir }: TestHost): Promise<void> {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 50);
  const events = [];
  for await (const envelope of host.events({ after: 0, signal: stop.signal })) events.push(envelope.event.type);
  expect(events).toEqual([]);
  expect(await scratch(stateDir)).toEqual([]);
  expect(await wardens()).toEqual([]);
}

async function scratch(stateDir: string): Promise<string[]> {
  return await readdir(join(stateDir, "host-1", "scratch")).catch(() => []);
}

async function wardens(): Promise<string[]> {
  return (await childrenLeft()).map(({ command }) => command).filter((command) => command.includes("warden"));
}

/** One sentence or more, each of which ends, and no stack; the author's own line of source may follow. */
function expectSentence(message: string): void {
  expect(message.split("\n")[0]).toMatch(/^[A-Z].*[.!?)]$/s);
  expect(message).not.toMatch(/\n\s+at /);
}

describe("host.runSession() of a request that cannot start", () => {
  type Bad = [name: string, request: Partial<SessionRequest>, code: string, message: RegExp];
  const bad: Bad[] = [
    [
      "a working directory that does not exist",
      { workdir: "/no/such/folder" },
      "workdir_missing",
      /"\/no\/such\/folder" does not exist/,
    ],
    ["a working directory that is a file", { workdir: "/etc/hostname" }, "workdir_missing", /is not a folder/],
    [
      "a prompt of 5 MB",
      { prompt: "x".repeat(5 * 1024 * 1024) },
      "too_large",
      /The prompt has 5242880 bytes, and at most 4194304 are allowed/,
    ],
    [
      "a model that is not offered",
      { model: "huge" },
      "invalid_model",
      /Model "huge" is not offered. Allowed: large, small/,
    ],
    [
      "an unknown parameter",
      { params: { sped: 2 } },
      "invalid_request",
      /params.sped: expected a declared option, found "sped"; did you mean "speed"/,
    ],
    [
      "a parameter of the wrong type",
      { params: { speed: "fast" } },
      "invalid_request",
      /params.speed: expected integer, found/,
    ],
    [
      "an environment name that is not granted",
      { env: { SECRET: "x" } },
      "permission_denied",
      /may not set SECRET for plugin "works"/,
    ],
    ["a field of the wrong type", { prompt: 5 as never }, "invalid_request", /prompt: expected string/],
    [
      "an unknown field",
      { propmt: "x" } as never,
      "invalid_request",
      /propmt: expected a known key, .*did you mean "prompt"\?$/,
    ],
    ["a deadline of nothing", { timeout_ms: 0 }, "invalid_request", /timeout_ms/],
    ["a work tree of its own without a repository", { workspace: "worktree" }, "invalid_request", /repository/],
  ];

  test.each(bad)("%s: one typed sentence, and nothing is done", async (_name, request, code, message) => {
    const made = await openHost();
    const manifest = "models: [large, small]\nconfig:\n  type: object\n  properties:\n    speed:\n      type: integer";
    await made.add("works", { code: works, manifest });
    const error = await errorOf(made.run("works", request));
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    if (code !== "invalid_request") expectSentence(error.message);
    await expectNothingDone(made);
  });

  test("a working directory whose name is not UTF-8: that is said, by whatever way it comes", async () => {
    const { root } = await openHost();
    const script = `cd "$0" && mkdir "$(printf 'x\\377')" && ln -s "$(printf 'x\\377')" link`;
    execFileSync("sh", ["-ec", script, root]);
    for (const path of [join(root, "x\ufffd"), join(root, "link")]) {
      const error = await errorOf(checkWorkdir(path, []));
      expect(error).toMatchObject({ code: "workdir_missing", message: expect.stringContaining("is not UTF-8") });
    }
  });

  test("an unknown adapter: the enabled ones are named", async () => {
    const made = await openHost();
    await made.add("works", { code: works });
    const error = await errorOf(made.run("wroks"));
    expect(error).toMatchObject({
      code: "unknown_adapter",
      hint: 'Did you mean "works"?',
      details: { enabled: ["works"] },
    });
    await expectNothingDone(made);
  });

  test("a request that is not an object at all", async () => {
    const made = await openHost();
    await made.add("works", { code: works });
    for (const request of [null, 5, "go", []]) {
      const error = await errorOf(made.host.runSession(request as never, { adapter: "works" }));
      expect(error.code).toBe("invalid_request");
    }
    await expectNothingDone(made);
  });

  test("a signal that is aborted already", async () => {
    const made = await openHost();
    await made.add("works", { code: works });
    const starting = made.host.runSession({ workdir: made.workdir, prompt: "go" }, {
      adapter: "works",
      signal: AbortSignal.abort(),
    });
    expect(await errorOf(starting)).toMatchObject({ code: "interrupted" });
    await expectNothingDone(made);
  });

  test("a host that is closed, or closes meanwhile", async () => {
    const made = await openHost();
    await made.add("works", { code: works });
    const meanwhile = errorOf(made.run("works"));
    const closing = made.host.close();
    expect((await meanwhile).code).toBe("host_closed");
    await closing;
    expect((await errorOf(made.run("works"))).code).toBe("host_closed");
  });
});

describe("a plugin that cannot be used", () => {
  const manifestOf = (changes: string) =>
    `manifest: 1
id: broken
name: Broken
version: 1.0.0
description: Broken.
license: MIT
host: ^1.0.0
adapter_type: tool
entry: ./mod.js
capabilities: {}
${changes}`;

  test.each([
    ["an unknown key", manifestOf("permisions: {}\n"), "invalid_manifest", /plugin\.yaml:11:1/],
    ["a value of the wrong type", manifestOf("models: large\n"), "invalid_manifest", /plugin\.yaml:11:9/],
    [
      "a permission that is no list",
      manifestOf("permissions:\n  run: /bin/sh\n"),
      "invalid_manifest",
      /plugin\.yaml:12:8/,
    ],
    ["YAML that cannot be read", "manifest: [1\nid: broken", "invalid_manifest", /plugin\.yaml:\d+:\d+/],
    ["an empty file", "", "invalid_manifest", /plugin\.yaml/],
  ])("a manifest with %s: file, line and column", async (_name, text, code, message) => {
    const { host, root } = await openHost();
    const folder = join(root, "packages", "broken");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "plugin.yaml"), text);
    const error = await errorOf(host.registry.register(folder));
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(host.registry.get("broken")).toBeUndefined();
  });

  test("a folder that is not there", async () => {
    const { host } = await openHost();
    expect((await errorOf(host.registry.register("/no/such/package"))).code).toBe("not_found");
  });

  test("options that the plugin does not have, and a thread without trust", async () => {
    const { host, root } = await openHost();
    const folder = await writePlugin(join(root, "packages", "works"), "works", { code: works });
    expect((await errorOf(host.registry.register(folder, { config: { depth: 1 } }))).code).toBe("invalid_config");
    expect((await errorOf(host.registry.register(folder, { isolation: "thread" }))).code).toBe("invalid_config");
    expect(host.registry.get("works")).toBeUndefined();
  });

  const failing: [name: string, code: string, expected: string, message: RegExp][] = [
    ["a syntax error", "export default {\n  async *runSession( {\n", "bundle_failed", /mod\.js:\d+:\d+/],
    [
      "an import of a built-in module",
      `import fs from "node:fs";\nexport default fs;`,
      "bundle_failed",
      /mod\.js:1:\d+.*node:fs/s,
    ],
    [
      "an import of a file outside",
      `import x from "../../secret.js";\nexport default x;`,
      "bundle_failed",
      /mod\.js:1:\d+/,
    ],
    ["a throw at load", `throw new Error("No licence.");`, "load_failed", /No licence\./],
    ["no default export", "export const x = 1;", "adapter_incomplete", /default export/],
    [
      "a default export that makes no object",
      "export default class { constructor() { return () => 5; } }",
      "adapter_incomplete",
      /constructor made no object/,
    ],
    ["a default export that is no class", "export default () => 5;", "adapter_incomplete", /export a class/],
  ];

  describe.each(isolations)("in a %s", (isolation) => {
    test.each(failing)(
      "%s fails its session with a sentence, and nothing is left",
      async (_name, code, expected, message) => {
        const made = await openHost();
        await made.add("broken", { code }, { isolation, trusted: true });
        const { result, events } = await made.run("broken");
        expect(result.stop_reason).toBe("fatal");
        expect(result.error?.code).toBe(expected);
        expect(result.error?.message).toMatch(message);
        expectSentence(result.error!.message);
        expect(events.map(({ event }) => event.type)).toEqual(["session_started", "attempt_failed", "session_ended"]);
        expect(await scratch(made.stateDir)).toEqual([]);
      },
    );

    test("an incomplete adapter is told every missing member", async () => {
      const made = await openHost();
      await made.add("broken", {
        code: `export default class { id = "broken"; name = "Broken"; async *runSession() {} }`,
      }, { isolation, trusted: true });
      const { result } = await made.run("broken");
      const missing = [
        "version",
        "capabilities",
        "accessModes",
        "initialize",
        "shutdown",
        "isAvailable",
        "getAccessMode",
      ]
        .concat("healthCheck", "getCapabilities", "validateModel", "interrupt", "getRateLimitDetector");
      expect(result.error).toMatchObject({ code: "adapter_incomplete", details: { missing } });
      for (const member of missing) expect(result.error?.message).toContain(member);
    });

    test("an incomplete class of the SDK is told its missing fields and methods at once", async () => {
      const made = await openHost();
      const code = `import { CliAdapter } from "bulkhead/plugin-sdk";
export default class extends CliAdapter { id = "broken"; version = "1.0.0"; getVersion() { return null; } }`;
      await made.add("broken", { code }, { isolation, trusted: true });
      const { result } = await made.run("broken");
      const missing = ["name", "capabilities", "accessModes", "findBinary", "checkAuth", "buildCommand", "parseOutput"];
      expect(result.error).toMatchObject({ code: "adapter_incomplete", details: { missing } });
    });

    test("a throw in initialize() and in runSession() shows the author the author's own line", async () => {
      const made = await openHost();
      const source = (where: "initialize" | "runSession") =>
        `import { type AdapterEvents, defineAdapter } from "bulkhead/plugin-sdk";

interface Ship { name: string }

export default defineAdapter({
  id: "made",
  name: "Made",
  version: "1.0.0",
  initialize() {
    ${where === "initialize" ? `sink({ name: "Titanic" });` : ""}
  },
  async *runSession(): AdapterEvents {
    ${where === "runSession" ? `sink({ name: "Titanic" });` : ""}
    yield ${completed};
  },
});

function sink(ship: Ship): void {
  throw new Error(\`\${ship.name} sank\`);
}
`;
      for (const [where, code] of [["initialize", "adapter_initialization"], ["runSession", "fatal"]] as const) {
        await made.add(where.toLowerCase(), { files: { "src/mod.ts": source(where) } }, { isolation, trusted: true });
        const { result } = await made.run(where.toLowerCase());
        expect(result.error).toMatchObject({ code, message: expect.stringContaining("Titanic sank") });
        const stack = String(result.error?.details?.["stack"]);
        expect(stack).toMatch(/src\/mod\.ts:19:9/);
        expect(stack).toMatch(where === "initialize" ? /src\/mod\.ts:10:5/ : /src\/mod\.ts:13:5/);
        // The stack is for the log and the author; what a person reads first is the sentence.
        expectSentence(`${result.error!.message}.`);
      }
    });
  });

  test("a program that is missing ends the session as unavailable", async () => {
    const made = await openHost();
    const code = adapterCode(`    await ctx.run("no-such-program-anywhere", []);\n    yield ${completed};`);
    const manifest = "permissions:\n  run:\n    - binary: no-such-program-anywhere";
    await made.add("lacking", { code, manifest }, { grant: { run: [{ binary: "no-such-program-anywhere" }] } });
    const { result } = await made.run("lacking");
    expect(result).toMatchObject({ stop_reason: "unavailable", error: { code: "binary_missing" } });
    expect(result.error?.message).toContain("no-such-program-anywhere");
    expectSentence(result.error!.message);
    // What the host refuses names the author's line that asked for it.
    expect(result.error?.details?.["stack"]).toMatch(/at async \S*runSession \(mod\.\w+:\d+:\d+\)/);
    expect(await scratch(made.stateDir)).toEqual([]);
  });

  test("after any of it the host serves others", async () => {
    const made = await openHost();
    await made.add("broken", { code: `throw new Error("no");` });
    await made.add("works", { code: works });
    await made.run("broken");
    await errorOf(made.run("nobody"));
    expect((await made.run("works")).result.outcome).toBe("completed");
    expect((await made.run("broken")).result.error?.code).toBe("load_failed");
  });
});
