import { describe, expect, test } from "vitest";
import { cliTool, type Normaliser } from "../../plugin-sdk/cli-tool.ts";
import type { AgentConfig } from "../../plugin-sdk/context.ts";
import { InvalidModelError } from "../../plugin-sdk/errors.ts";
import type { CliTool, Manifest } from "../../plugin-sdk/manifest.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { probeAdapter, runAdapter, type RunAdapterOptions } from "../../plugin-sdk/testing.ts";
import { toolManifest } from "./examples.ts";

function manifest(cli: Partial<CliTool>, more: Partial<Manifest> = {}): Manifest {
  return {
    manifest: 1,
    id: "a-tool",
    name: "A tool",
    version: "1.0.0",
    description: "Drives a tool.",
    license: "MIT",
    host: "^1.0.0",
    adapter_type: "cli",
    capabilities: {},
    cli: { binary: "tool", command_template: "{binary} {prompt}", ...cli },
    ...more,
  };
}

async function run(
  of: Manifest,
  request: Partial<SessionRequest> = {},
  options: RunAdapterOptions & { normaliser?: Normaliser } = {},
) {
  const { normaliser, ...rest } = options;
  return await runAdapter(cliTool(of, normaliser), { prompt: "hi", ...request }, { processes: [{}], ...rest });
}

const limitTexts: [string, number][] = [
  ["Error: You've hit your usage limit. Try again in 2 hours.", 7_200_000],
  ["Assistant usage limit reached. Your limit will reset after 14h23m5s.", 51_785_000],
  ["You've hit your session limit · resets in 5 min", 300_000],
];

const completed = { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };

describe("a tool's limit", () => {
  test.each(limitTexts)("is seen in %j, on either stream", async (text, wait_ms) => {
    for (const stream of ["stdout", "stderr"]) {
      const { events } = await run(manifest({}), {}, { processes: [{ [stream]: `hello\n${text}\n`, exit_code: 1 }] });
      expect(events.slice(-2)).toMatchObject([{ type: "rate_limit", wait_ms }, { code: "rate_limit" }]);
    }
  });

  test.each([
    ["I made the rate limit stricter, as you said.", 1],
    ["exceeded your context limit", 1],
    ["You've hit your usage limit.\nNow I go on.", 1],
    ["You've hit your usage limit.", 0],
  ])("is not seen in the words %j of a program that exits with %i", async (stdout, exit_code) => {
    const { events } = await run(manifest({}), {}, { processes: [{ stdout, exit_code }] });
    expect(events.filter(({ type }) => type === "rate_limit")).toEqual([]);
    expect(events.at(-1)).not.toMatchObject({ code: "rate_limit" });
  });

  test("counts before a word that stands beside it", async () => {
    const of = manifest({ failures: { unavailable: ["api key", "slow down"] } });
    const end = async (stderr: string) => (await run(of, {}, { processes: [{ stderr, exit_code: 1 }] })).last;
    expect(await end("This API key has reached its daily limit.")).toMatchObject({ code: "rate_limit" });
    expect(await end("bad api key")).toMatchObject({ code: "unavailable" });
    expect(await end("rate limit: slow down")).toMatchObject({ code: "unavailable" });
  });
});

describe("a tool's session", () => {
  test("runs the filled template and gives its lines as output", async () => {
    const result = await run(manifest({}), { prompt: '-x "y"' }, { processes: [{ stdout: "a\nb\n" }] });
    expect(result.calls).toMatchObject([{
      call: "run",
      binary: "tool",
      args: ['-x "y"'],
      options: { stdin: "closed" },
    }]);
    expect(result.events).toEqual([
      { type: "progress", message: expect.stringContaining('A prompt that begins with "-"') },
      { type: "output", stream: "stdout", data: "a\n" },
      { type: "output", stream: "stdout", data: "b\n" },
      completed,
    ]);
    expect(result.violations).toEqual([]);
  });

  test("fills model, params, environment and standard input of a full manifest", async () => {
    const result = await run(toolManifest, { model: "large", params: { depth: 5 } }, {
      env: { HOST_KEY: "secret" },
      processes: [{ stdout: '{"type":"end","n":1}\n' }],
    });
    expect(result.calls.find(({ call }) => call === "run")).toMatchObject({
      binary: "tool",
      args: ["--model", "tool-l-2", "--depth", "5"],
      options: { env: { TOOL_KEY: "key secret" }, stdin: "open" },
      stdin: "hi",
      stdin_closed: true,
    });
    expect(result.last).toEqual(completed);
  });

  test.each<[string, object, Partial<AgentConfig>, string]>([
    ["the request", { depth: 5 }, { custom: { depth: 3 } }, "5"],
    ["the operator's configuration", {}, { custom: { depth: 3 } }, "3"],
    ["the manifest's default", {}, {}, "2"],
  ])("takes an option from %s", async (_what, params, config, depth) => {
    const { calls } = await run(toolManifest, { params: { ...params } }, { config, env: { HOST_KEY: "k" } });
    expect(calls.at(-1)).toMatchObject({ args: ["--model", "tool-s-1", "--depth", depth] });
  });

  test("hands on what a request asks for, and a model only where one is asked for", async () => {
    const of = manifest({
      command_template: "{binary} [-m {model}] [-r {continue_from}] [-t {allowed_tools} -n {max_turns}] {prompt}",
      models: { small: "s-1" },
    });
    const args = async (request: Partial<SessionRequest>) => (await run(of, request)).calls[0];
    expect(await args({})).toMatchObject({ args: ["hi"] });
    expect(await args({ model: "small", continue_from: "abc" })).toMatchObject({
      args: ["-m", "s-1", "-r", "abc", "hi"],
    });
    expect(await args({ allowed_tools: ["a", "b"], max_turns: 3 })).toMatchObject({
      args: ["-t", "a,b", "-n", "3", "hi"],
    });
  });

  test("writes the prompt to a file where the template names one", async () => {
    const { calls } = await run(manifest({ command_template: "{binary} -f {prompt_file} {workdir} {plugin_dir}" }));
    expect(calls).toMatchObject([
      { call: "temp.write", text: "hi" },
      { call: "run", args: ["-f", "/temp/prompt.txt", "/work", "/plugin"], options: { stdin: "closed" } },
    ]);
  });

  test("takes the output from the file where the template names one; what it prints is progress", async () => {
    const result = await run(manifest({ command_template: "{binary} -o {output_file} {prompt}" }), {}, {
      processes: [{ stdout: "working\n\n", temp_files: { "output.txt": "the answer" } }],
    });
    expect(result.calls[1]).toMatchObject({ args: ["-o", "/temp/output.txt", "hi"] });
    expect(result.events).toEqual([
      { type: "progress", message: "working" },
      { type: "output", stream: "stdout", data: "the answer" },
      { ...completed, output: "the answer" },
    ]);
  });

  test("leaves the file unread when the tool failed", async () => {
    const result = await run(manifest({ command_template: "{binary} -o {output_file} {prompt}" }), {}, {
      processes: [{ exit_code: 1, temp_files: { "output.txt": "half" } }],
    });
    expect(result.events).toMatchObject([{ type: "error", code: "fatal" }]);
    expect(result.calls.map(({ call }) => call)).not.toContain("temp.read");
  });

  test("maps JSON lines by the rules", async () => {
    const rules = [{ when: { t: "say" }, event: { type: "output", data: "$.text" } }];
    const { events } = await run(manifest({ output: { format: "jsonl", rules } }), {}, {
      processes: [{ stdout: '{"t":"say","text":"hi"}\nnoise\n{"t":"?"}\n' }],
    });
    expect(events).toEqual([
      { type: "output", stream: "stdout", data: "hi" },
      { type: "output", stream: "stdout", data: "noise\n" },
      { type: "unparsed", data: { t: "?" } },
      completed,
    ]);
  });

  test("knows the kind of a tool by its name, unless the rule tells it", async () => {
    const call = { type: "tool_call", call_id: "$.id", tool: "$.name" };
    const rules = [
      { when: { kind: "*" }, event: { ...call, kind: "$.kind" } },
      { else: {}, event: call },
    ];
    const of = manifest({ output: { format: "jsonl", rules, tool_kinds: { write: "edit", sh: "execute" } } });
    const stdout = [["1", "write"], ["2", "toString"], ["3", "sh", "read"]].map(([id, name, kind]) =>
      `${JSON.stringify({ id, name, kind })}\n`
    ).join("");
    const { events } = await run(of, {}, { processes: [{ stdout }] });
    expect(events.flatMap((event) => (event.type === "tool_call" ? event.kind : []))).toEqual([
      "edit",
      "other",
      "read",
    ]);
  });

  test("tells the file that a tool has changed, once it has succeeded", async () => {
    const rules = [
      { when: { name: "*" }, event: { type: "tool_call", call_id: "$.id", tool: "$.name", input: "$.in" } },
      { else: {}, event: { type: "tool_result", call_id: "$.id", success: "$.ok" } },
    ];
    const of = manifest({ output: { format: "jsonl", rules, file_changes: { write: "file.path" } } });
    const stdout = [
      { id: "1", name: "write", in: { file: { path: "a.ts" } } },
      { id: "2", name: "write", in: { file: { path: "b.ts" } } },
      { id: "3", name: "read", in: { file: { path: "c.ts" } } },
      { id: "4", name: "write", in: "d.ts" },
      ...["1", "2", "3", "4"].map((id) => ({ id, ok: id !== "2" })),
    ].map((line) => `${JSON.stringify(line)}\n`).join("");
    const { events, last } = await run(of, {}, { processes: [{ stdout }] });
    expect(events.filter(({ type }) => type === "file_change")).toEqual([
      { type: "file_change", path: "a.ts", action: "modify" },
    ]);
    expect(events.findIndex(({ type }) => type === "file_change")).toBe(
      events.findIndex((event) => event.type === "tool_result" && event.call_id === "1") + 1,
    );
    expect(last).toMatchObject({ files_changed: ["a.ts"] });
  });

  test("fails without the last word that its rules can tell, whatever the exit code", async () => {
    const rules = [{ when: { t: "end" }, event: { type: "completed" } }];
    const of = manifest({ output: { format: "jsonl", rules } });
    expect((await run(of, {}, { processes: [{ stdout: "{}\n" }] })).last).toMatchObject({ type: "error" });
    expect((await run(of, {}, { processes: [{ stdout: '{"t":"end"}\n' }] })).last).toEqual(completed);
  });

  test("uses a normaliser instead where there is one", async () => {
    const normaliser: Normaliser = (line) => line === "" ? null : [{ type: "thinking", content: line }];
    const { events } = await run(manifest({}), {}, { processes: [{ stdout: "a\n\nb\n" }], normaliser });
    expect(events).toEqual([{ type: "thinking", content: "a" }, { type: "thinking", content: "b" }, completed]);
  });

  test("reads exit codes as the manifest says", async () => {
    const of = manifest({ exit_codes: { "1": "completed", "7": "rate_limit", "8": "unavailable", "9": "refused" } });
    const last = async (exit_code: number) => (await run(of, {}, { processes: [{ exit_code }] })).last;
    expect(await last(1)).toEqual(completed);
    expect(await last(7)).toMatchObject({ code: "rate_limit", recoverable: true });
    expect(await last(8)).toMatchObject({ code: "unavailable", recoverable: true });
    expect(await last(9)).toMatchObject({ code: "refused", recoverable: false });
    expect(await last(2)).toMatchObject({ code: "fatal", recoverable: false });
    expect(await last(0)).toEqual(completed);
  });

  test("knows the manifest's signs of a rate limit, as plain text", async () => {
    const of = manifest({ failures: { rate_limit: ["slow * down", "(a+)+$"] } });
    const { events } = await run(of, {}, { processes: [{ stderr: "please SLOW it Down\n", exit_code: 1 }] });
    expect(events.slice(1)).toMatchObject([{ type: "rate_limit" }, { type: "error", code: "rate_limit" }]);
    const other = await run(of, {}, { processes: [{ stderr: "aaaa\n", exit_code: 1 }] });
    expect(other.last).toMatchObject({ code: "fatal" });
  });

  test("drops the lines of its error output that the manifest names, and no line of its output", async () => {
    const of = manifest({ noise: ["yolo mode is *enabled"] });
    const noisy = { stdout: "YOLO mode is enabled\n", stderr: "YOLO mode is ENABLED!\nno key\n", exit_code: 3 };
    const { events } = await run(of, {}, { processes: [noisy] });
    expect(events).toContainEqual({ type: "output", stream: "stdout", data: "YOLO mode is enabled\n" });
    expect(events.filter((event) => event.type === "output" && event.stream === "stderr")).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: "error", message: "The program exited with code 3: no key" });
  });

  test("tells why it failed by texts of its error output and of its errors, the first meaning that fits", async () => {
    const rules = [{ when: { t: "err" }, event: { type: "error", message: "$.m" } }];
    const failures = {
      unavailable: ["401", "log in"],
      context_overflow: ["too long"],
      fatal: ["no rate limit"],
      rate_limit: ["slow down"],
    };
    const of = manifest({ failures, output: { format: "jsonl", rules } });
    const stderr = async (text: string) => (await run(of, {}, { processes: [{ stderr: text, exit_code: 1 }] })).last;
    const error = async (m: string) =>
      (await run(of, {}, { processes: [{ stdout: `${JSON.stringify({ t: "err", m })}\n`, exit_code: 1 }] })).last;
    for (const told of [stderr, error]) {
      expect(await told("Please LOG IN first")).toMatchObject({
        type: "error",
        code: "unavailable",
        recoverable: true,
      });
      expect(await told("prompt too long")).toMatchObject({ code: "context_overflow", recoverable: false });
      expect(await told("slow down")).toMatchObject({ code: "rate_limit" });
      expect(await told("no rate limit is set")).toMatchObject({ code: "fatal" });
      expect(await told("429")).toMatchObject({ code: "rate_limit" });
      expect(await told("boom")).toMatchObject({ code: "fatal", message: expect.stringContaining("boom") });
    }
  });

  test.each<[string, "last" | "first" | "first_error" | undefined, string[], string]>([
    ["the last", undefined, ["a", "b"], "b"],
    ["the last", "last", ["a", "done"], "done"],
    ["the first", "first", ["a", "done", "b"], "a"],
    ["the first", "first", ["done", "a"], "done"],
    ["the first error", "first_error", ["a", "b"], "a"],
    ["what completes after an error", "first_error", ["a", "done"], "done"],
    ["an error after all", "first_error", ["done", "a", "b"], "a"],
  ])("counts %s of several last words with %s", async (_what, last_word, words, counts) => {
    const rules = [
      { when: { t: "done" }, event: { type: "completed", output: "done" } },
      { else: {}, event: { type: "error", message: "$.t" } },
    ];
    const output = { format: "jsonl" as const, rules, ...(last_word ? { last_word } : {}) };
    const stdout = words.map((t) => `{"t":"${t}"}\n`).join("");
    const { events, last } = await run(manifest({ output }), {}, { processes: [{ stdout }] });
    expect(last?.type === "completed" ? last.output : last?.type === "error" && last.message).toBe(counts);
    expect(events.filter(({ type }) => type === "unparsed")).toHaveLength(words.length - 1);
  });

  test("does not keep an error twice that is only said again", async () => {
    const rules = [{ when: { t: "err" }, event: { type: "error", message: "no" } }];
    const { events } = await run(manifest({ output: { format: "jsonl", rules } }), {}, {
      processes: [{ stdout: '{"t":"err"}\n{"t":"err"}\n' }],
    });
    expect(events).toEqual([{ type: "error", code: "fatal", message: "no", recoverable: false }]);
  });

  test("completes with the last message, each on a line of its own", async () => {
    const rules = [
      { when: { t: "say" }, event: { type: "output", data: "$.x" } },
      { when: { t: "call" }, event: { type: "tool_call", call_id: "$.x" } },
      { when: { t: "end" }, event: { type: "completed" } },
    ];
    const stdout = '{"t":"say","x":"I will create the file."}\n{"t":"call","x":"1"}\n{"t":"say","x":"done"}\n';
    for (const end of ["", '{"t":"end"}\n']) {
      const of = manifest({ output: { format: "jsonl", rules: end === "" ? rules.slice(0, 2) : rules } });
      const { events, last } = await run(of, {}, { processes: [{ stdout: stdout + end }] });
      expect(events.flatMap((event) => (event.type === "output" ? event.data : [])).join("")).toBe(
        "I will create the file.\ndone",
      );
      expect(last).toEqual({ ...completed, output: "done" });
    }
  });

  test("hands @runtime on as it is", async () => {
    const { calls } = await run(
      manifest({ binary: "@runtime", command_template: "{binary} {plugin_dir}/a.mjs {prompt}" }),
    );
    expect(calls[0]).toMatchObject({ binary: "@runtime", args: ["/plugin/a.mjs", "hi"] });
  });

  test.each([["linux", "tool"], ["win32", "tool.exe"]])("takes the program for %s", async (platform, binary) => {
    const { calls } = await run(toolManifest, {}, { platform, env: { HOST_KEY: "k" } });
    expect(calls.at(-1)).toMatchObject({ binary });
  });
});

describe("a tool's session is refused", () => {
  test("for a variable that is not set, naming it", async () => {
    const { error, calls } = await run(toolManifest);
    expect(error).toMatchObject({ code: "env_missing", details: { name: "HOST_KEY" } });
    expect(error?.message).toContain("HOST_KEY");
    expect(calls.some(({ call }) => call === "run")).toBe(false);
  });

  test("for a model that is not offered, naming those that are", async () => {
    const { error } = await run(toolManifest, { model: "huge" }, { env: { HOST_KEY: "k" } });
    expect(error).toMatchObject({ code: "invalid_model", details: { model: "huge", allowed: ["small", "large"] } });
  });

  test("where no program stands for the platform", async () => {
    const { error } = await run(manifest({ binary: { win32: "a" } }));
    expect(error).toMatchObject({ code: "binary_missing" });
  });

  test("where the template asks for a model and nobody names one", async () => {
    const { error } = await run(manifest({ command_template: "{binary} {model}" }));
    expect(error).toMatchObject({ code: "invalid_request", details: { placeholder: "model" } });
  });
});

describe("cliTool", () => {
  test.each<[string, Manifest]>([
    ["no cli", { ...manifest({}), cli: undefined } as unknown as Manifest],
    ["a bad template", manifest({ command_template: "{binary} | sh" })],
    ["an option that is not declared", manifest({ command_template: "{binary} {params.x}" })],
    ["a bad probe", manifest({ version: { args: "--version {model}" } })],
    ["a rule for no event", manifest({ output: { format: "jsonl", rules: [{ when: {}, event: { type: "x" } }] } })],
  ])("refuses a manifest with %s at load", (_what, of) => {
    expect(() => cliTool(of)).toThrow(expect.objectContaining({ code: "invalid_manifest" }));
  });

  test("makes an adapter that says what its manifest says", () => {
    const adapter = new (cliTool(toolManifest))();
    expect([adapter.id, adapter.name, adapter.version]).toEqual(["a-tool", "A tool", "1.0.0"]);
    expect(adapter.capabilities).toBe(toolManifest.capabilities);
    expect(adapter.accessModes).toBe(toolManifest.access_modes);
  });

  test("translates models, and knows those of the manifest where the tool has no names of its own", () => {
    expect(new (cliTool(toolManifest))().validateModel("small")).toBe("tool-s-1");
    const listed = new (cliTool(manifest({ models: ["pro", "flash"] })))();
    expect(listed.validateModel("flash")).toBe("flash");
    expect(() => listed.validateModel("x")).toThrow("pro, flash");
    const plain = new (cliTool(manifest({}, { models: ["m"] })))();
    expect(plain.validateModel("m")).toBe("m");
    for (const wrong of ["x", "constructor"]) expect(() => plain.validateModel(wrong)).toThrow(InvalidModelError);
    expect(() => new (cliTool(toolManifest))().validateModel("toString")).toThrow(InvalidModelError);
    expect(new (cliTool(manifest({})))().validateModel("any")).toBe("any");
  });
});

describe("a tool's probe", () => {
  const version = { binary: "tool", args: "--version", stdout: "tool version 2.3.4-beta\n" };
  const auth = { binary: "tool", args: "auth status", stderr: "logged in as x\n" };
  const probe = async (processes: object[], env: Record<string, string> = { HOST_KEY: "k" }) => {
    const { report, violations } = await probeAdapter(cliTool(toolManifest), { processes, env });
    expect(violations).toEqual([]);
    return report;
  };

  test("finds it available, with its version", async () => {
    expect(await probe([version, auth])).toMatchObject({ availability: "available", version: "2.3.4-beta" });
  });

  test.each<[string, object[], string]>([
    ["a program that is not there", [], "missing"],
    ["a program that fails", [{ ...version, exit_code: 127 }], "unrunnable"],
    ["another program of that name", [{ ...version, stdout: "other 1.0" }], "incompatible"],
    ["a login that fails", [version, { ...auth, exit_code: 1 }], "unauthenticated"],
    ["a login that says something else", [version, { ...auth, stderr: "nobody" }], "unauthenticated"],
    ["a rate limit", [version, { ...auth, exit_code: 1, stderr: "429" }], "rate_limited"],
  ])("finds %s", async (_what, processes, availability) => {
    expect(await probe(processes)).toMatchObject({ availability });
  });

  test("finds a key that is not set, and says what to do", async () => {
    expect(await probe([version, auth], {})).toMatchObject({
      availability: "unauthenticated",
      reason: expect.stringContaining("HOST_KEY"),
      next_step: expect.stringContaining("HOST_KEY"),
      version: "2.3.4-beta",
    });
  });

  test("says so where nothing can be asked", async () => {
    const { report } = await probeAdapter(cliTool(manifest({})));
    expect(report).toEqual({ availability: "available", reason: "Ready (it has no login check)." });
  });
});
