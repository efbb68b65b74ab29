import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A plugin with exactly one thing wrong, and the rule that must find it. */
export interface Defect {
  /** `good` for a plugin with nothing wrong. */
  rule: string;
  name: string;
  /** Lines of the manifest beside those that every one has. */
  manifest?: string;
  /** Members in place of the sound ones. */
  members?: string;
  /** Body of `runSession`; absent: that of a sound adapter. */
  body?: string;
  /** Drives a program: then `members` are those of a `CliAdapter`. */
  program?: true;
  /** The whole entry. */
  code?: string;
  /** `conformance.yaml`. */
  script?: string;
  files?: Record<string, string>;
}

const hello = `yield { type: "output", stream: "stdout", data: "Hello.\\n" };`;
const done = `yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`;
const completed = `{ type: "completed", success: true, files_changed: [], tokens_used: null, cost: null }`;
const call = `{ type: "tool_call", call_id: "a", tool: "look", kind: "read", input: {} }`;
const ask =
  `{ type: "permission_request", request_id: "r", tool: "look", title: "May I?", options: [{ id: "y", label: "Yes", kind: "allow_once" }] }`;
const result = `{ type: "tool_result", call_id: "a", tool: "look", output: "", success: true, duration_ms: null }`;
const paid = `access_modes:
  - { type: api, enabled: true, model: m, pricing: { input_per_1k_tokens: 1, output_per_1k_tokens: 1, currency: USD }, max_tokens: 10 }`;
const spent = `type: "usage", scope: "session", tokens_cached: null`;

/** Says hello in each turn, and then does this with `turn`. */
const inTurns = (more: string) => `for await (const turn of ctx.turns) { ${hello} ${more} }`;

/** Adapters with exactly one defect each. */
export const defects: readonly Defect[] = [
  { rule: "manifest", name: "unknown key", manifest: "colour: blue" },
  {
    rule: "manifest",
    name: "a recording that is not there",
    script: `conformance: 1\nprograms:\n  - { binary: tool, answers: [{ stdout_file: gone.txt }] }`,
  },
  {
    rule: "package",
    name: "another version",
    files: { "README.md": "#", "package.json": `{"name":"made","version":"2.0.0","keywords":["bulkhead-plugin"]}` },
  },
  {
    rule: "package",
    name: "no readme",
    files: { "package.json": `{"name":"made","version":"1.0.0","keywords":["bulkhead-plugin"]}` },
  },
  { rule: "bundle", name: "a Node module", code: `import "node:fs";\nexport default class {}` },
  { rule: "load", name: "throws at its top", code: `throw new Error("no");\nexport default class {}` },
  { rule: "members", name: "lacks most", code: `export default class { id = "ID"; async *runSession() {} }` },
  { rule: "members", name: "a number for a name", members: "name = 5;" },
  { rule: "initialize", name: "wants an option", members: `initialize(config) { config.custom.style.length; }` },
  { rule: "lifecycle", name: "interrupt throws", members: `interrupt() { throw new Error("nothing runs"); }` },
  {
    rule: "lifecycle",
    name: "shutdown rejects",
    members: `async shutdown() { if (!this.ran) throw new Error("never ran"); }`,
    body: `this.ran = true; ${hello} ${done}`,
  },
  { rule: "identity", name: "another version", members: `version = "9.9.9";` },
  { rule: "identity", name: "another id", members: `id = "somebody-else";` },
  { rule: "capabilities", name: "states more", members: "capabilities = { testing: true };" },
  { rule: "capabilities", name: "a custom one it has not", manifest: "capabilities: { custom: { magic: true } }" },
  {
    rule: "capabilities",
    name: "getCapabilities differs",
    members: "getCapabilities() { return { debugging: true }; }",
  },
  {
    rule: "capability-means",
    name: "searches without a network",
    manifest: "capabilities: { web_search: true }",
    members: "capabilities = { web_search: true };",
  },
  {
    rule: "capability-means",
    name: "a project it cannot read",
    manifest: "capabilities: { project_context: true }",
    members: "capabilities = { project_context: true };",
  },
  {
    rule: "access-modes",
    name: "one that is not declared",
    members: `accessModes = [{ type: "local", enabled: true, model: "m", endpoint: "http://localhost:1/" }];`,
  },
  { rule: "access-mode-status", name: "half a status", members: `getAccessMode() { return { type: "local" }; }` },
  {
    rule: "models",
    name: "takes any",
    manifest: "models: [small, large]\naccepts: [model]",
    members: `validateModel(model) { return model; }`,
    body: `yield { type: "progress", message: String(request.model) }; ${done}`,
  },
  {
    rule: "models",
    name: "refuses its own",
    manifest: "models: [small]",
    members: `validateModel(model) { throw new BulkheadError("invalid_model", "No " + model); }`,
  },
  {
    rule: "availability",
    name: "a word of its own",
    members: `isAvailable() { return Promise.resolve({ availability: "yes", reason: "" }); }`,
  },
  { rule: "health", name: "an empty report", members: `healthCheck() { return Promise.resolve({}); }` },
  {
    rule: "health-agrees",
    name: "healthy without its program",
    members: `isAvailable() { return Promise.resolve({ availability: "missing", reason: "It is not there." }); }
      healthCheck() { return Promise.resolve({ status: "healthy", latency_ms: 1, last_check: new Date().toISOString(), details: { binary_found: true, authenticated: true } }); }`,
  },
  {
    rule: "detector",
    name: "answers in words",
    members: `getRateLimitDetector() { return { patterns: [], detect: () => "yes", extractWaitTime: () => null }; }`,
  },
  {
    rule: "rate-limit-texts",
    name: "sees one everywhere",
    members:
      `getRateLimitDetector() { const real = new RateLimitDetector(); return { patterns: [], detect: () => true, extractWaitTime: (text) => real.extractWaitTime(text) }; }`,
  },
  {
    rule: "rate-limit-texts",
    name: "minutes for seconds",
    members:
      `getRateLimitDetector() { const real = new RateLimitDetector(); return { patterns: [], detect: (text) => real.detect(text), extractWaitTime: (text) => real.extractWaitTime(text) && 60 * real.extractWaitTime(text) }; }`,
  },
  {
    rule: "rate-limit-session",
    name: "deaf to error output",
    program: true,
    members:
      `async *streamProcess(child) { for await (const lines of splitLines(child.stdout)) yield lines.map((line) => this.parseOutput(line)); }`,
  },
  {
    rule: "scripted",
    name: "a program that nobody scripts",
    manifest: "permissions: { run: [{ binary: some-tool }] }",
    script: "conformance: 1",
  },
  { rule: "scripted", name: "a program that is started and nobody scripts", program: true, script: "conformance: 1" },
  {
    rule: "sessions",
    name: "another answer",
    script: `conformance: 1\nsessions: [{ name: hi, prompt: hi, expect: { output: Goodbye } }]`,
  },
  { rule: "sessions", name: "throws", body: `${hello} throw new Error("no");` },
  { rule: "event-shape", name: "output without data", body: `yield { type: "output", stream: "stdout" }; ${done}` },
  { rule: "event-shape", name: "a type of its own", body: `yield { type: "shout", data: "!" }; ${done}` },
  { rule: "event-ids", name: "answers no call", body: `yield ${result}; ${done}` },
  {
    rule: "event-ids",
    name: "one id twice",
    manifest: "reports: [tool_calls]",
    body: `yield [${call}, ${result}, ${call}]; ${done}`,
  },
  {
    rule: "event-ids",
    name: "takes back what it never asked",
    body: `yield { type: "request_withdrawn", request_id: "r" }; ${done}`,
  },
  {
    rule: "event-ids",
    name: "asks twice under one id",
    manifest: "reports: [permissions]",
    body: `yield [${ask}, ${ask}]; ${done}`,
  },
  {
    rule: "tool-results",
    name: "leaves a call open",
    manifest: "reports: [tool_calls]",
    body: `yield ${call}; ${done}`,
  },
  {
    rule: "text-once",
    name: "grows",
    body:
      `for (const data of ["Hello, my", "Hello, my dear", "Hello, my dear world"]) yield { type: "output", stream: "stdout", data }; ${done}`,
  },
  {
    rule: "text-once",
    name: "says it all again",
    body:
      `for (const data of ["Hello, ", "my ", "world", "Hello, my world"]) yield { type: "output", stream: "stdout", data }; ${done}`,
  },
  { rule: "last-word", name: "says nothing at the end", body: hello },
  { rule: "after-end", name: "goes on", body: `${done} ${hello}` },
  { rule: "after-end", name: "ends twice", body: `${done} ${done}` },
  {
    rule: "claims",
    name: "a file that is not there",
    body: `yield { type: "completed", success: true, files_changed: ["new.txt"], tokens_used: null, cost: null };`,
  },
  {
    rule: "claims",
    name: "a change of nothing",
    body: `yield { type: "file_change", path: "a/b.txt", action: "modify" }; ${done}`,
  },
  {
    rule: "state",
    name: "remembers",
    manifest: "permissions: { kv: true }",
    body:
      `const before = await ctx.kv.get("seen"); await ctx.kv.set("seen", true); if (before) yield { type: "progress", message: "again" }; ${hello} ${done}`,
  },
  {
    rule: "cancel",
    name: "goes on waiting",
    program: true,
    members: `stopProcess() { return new Promise(() => {}); }`,
  },
  {
    rule: "process-left",
    name: "leaves a helper behind",
    program: true,
    manifest: "permissions: { run: [{ binary: tool }, { binary: helper }] }",
    members: `async setup(request, ctx) { await ctx.run("helper", [], { stdin: "open" }); }`,
    script: `conformance: 1
programs:
  - { binary: tool, answers: [{ stdin: read, stdout: "Hello.\\n" }] }
  - { binary: helper, answers: [{ probe: true, dialog: [{ reads: 1, stdout: "" }] }] }`,
  },
  {
    rule: "back-pressure",
    name: "reads ahead",
    program: true,
    members: `async *streamProcess(child, ctx) {
      const held = [];
      let over = false;
      const reading = (async () => {
        for await (const events of super.streamProcess(child, ctx)) held.push(events);
      })().finally(() => over = true);
      while (!over || held.length > 0) {
        const next = held.shift();
        if (next) yield next;
        else await ctx.sleep(5);
      }
      await reading;
    }`,
  },
  { rule: "accepts", name: "never looks at the system prompt", manifest: "accepts: [system_prompt]" },
  { rule: "accepts", name: "never looks at the output schema", manifest: "accepts: [output_schema]" },
  {
    rule: "accepts",
    name: "drops the output schema",
    program: true,
    manifest: "accepts: [output_schema]\npermissions: { run: [{ binary: tool }] }",
    members: `buildCommand(request) {
      void request.output_schema;
      return { binary: "tool", args: [], stdin: request.prompt };
    }`,
  },
  {
    rule: "accepts",
    name: "drops the model",
    program: true,
    manifest: "models: [traced-model]\naccepts: [model]\npermissions: { run: [{ binary: tool }] }",
    members: `buildCommand(request) { void request.model; return { binary: "tool", args: [], stdin: request.prompt }; }
      validateModel(model) { if (model === "traced-model") return model; throw new BulkheadError("invalid_model", "No."); }`,
  },
  { rule: "reports", name: "tells no tokens", manifest: "reports: [tokens]" },
  { rule: "reports", name: "tells of tools unasked", body: `yield [${call}, ${result}]; ${done}` },
  {
    rule: "permission-undeclared",
    name: "a variable",
    body: `await ctx.env.get("HOME").catch(() => {}); ${hello} ${done}`,
  },
  {
    rule: "permission-undeclared",
    name: "a server",
    body: `await ctx.fetch("http://example.com/").catch(() => {}); ${hello} ${done}`,
  },
  {
    rule: "permission-undeclared",
    name: "arguments of a program",
    program: true,
    members: `async getVersion(ctx) {
      await collectOutput({ binary: "tool", args: ["--version"] }, ctx).catch(() => {});
      return collectOutput({ binary: "tool", args: [] }, ctx).then(() => "1.0.0");
    }`,
  },
  {
    rule: "permission-undeclared",
    name: "a WebSocket",
    body: `await ctx.connect("ws://example.com/").catch(() => {}); ${hello} ${done}`,
  },
  { rule: "permission-unused", name: "a variable", manifest: "permissions: { env: [LANG] }" },
  {
    rule: "tool-missing",
    name: "always available",
    program: true,
    members: `isAvailable() { return Promise.resolve({ availability: "available", reason: "Surely." }); }`,
  },
  {
    rule: "tool-exits",
    name: "takes any exit for success",
    program: true,
    members: `meaningOfExit(exit) { return exit.exit_code === 3 ? "completed" : super.meaningOfExit(exit); }`,
  },
  {
    rule: "tool-garbage",
    name: "swallows what it does not know",
    program: true,
    members:
      `parseOutput(line) { return /^(Hello|y|flood)/.test(line) ? { type: "output", stream: "stdout", data: line + "\\n" } : null; }`,
  },
  {
    rule: "tool-half-line",
    name: "falls over half a line",
    program: true,
    members:
      `parseOutput(line) { this.half ||= line === "Hel"; return { type: "output", stream: "stdout", data: line + "\\n" }; }
      finalOutput() { if (this.half) throw new Error("half a line"); }`,
  },
  {
    rule: "tool-long-line",
    name: "cuts lines",
    program: true,
    members: `parseOutput(line) { return { type: "output", stream: "stdout", data: line.slice(0, 1000) + "\\n" }; }`,
  },
  {
    rule: "tool-floods",
    name: "gives up",
    program: true,
    members: `async *streamProcess(child, ctx) {
      let count = 0;
      for await (const events of super.streamProcess(child, ctx)) {
        if ((count += events.length) > 500) throw new Error("too much");
        yield events;
      }
    }`,
  },
  {
    rule: "tool-hangs",
    name: "calls it done",
    program: true,
    members: `async *runSession(request, ctx) {
      const events = super.runSession(request, ctx);
      for (;;) {
        const next = await Promise.race([events.next(), ctx.sleep(1500).then(() => null, () => null)]);
        if (next === null) {
          yield ${completed};
          return;
        }
        if (next.done) return;
        yield next.value;
      }
    }`,
  },
  {
    rule: "tool-dies",
    name: "takes a killed tool's word",
    program: true,
    members: `async *streamProcess(child, ctx) {
      yield* super.streamProcess(child, ctx);
      const { signal } = await child.exit;
      if (signal === "SIGKILL") yield [${completed}];
    }`,
  },
  {
    rule: "usage",
    name: "zero for unknown",
    body: `${hello} yield { ${spent}, tokens_in: 0, tokens_out: 0, cost: null }; ${done}`,
  },
  {
    rule: "usage",
    name: "a total that shrinks",
    body:
      `yield { ${spent}, tokens_in: 9, tokens_out: 9, cost: null }; yield { ${spent}, tokens_in: 2, tokens_out: 2, cost: null }; ${done}`,
  },
  { rule: "cost", name: "in no currency", body: `yield { ${spent}, tokens_in: 1, tokens_out: 1, cost: 0.5 }; ${done}` },
  {
    rule: "cost",
    name: "free of what is paid for",
    manifest: paid,
    body: `yield { ${spent}, tokens_in: 1, tokens_out: 1, cost: 0 }; ${done}`,
    members: `validateModel(model) { return model; }`,
  },
  {
    rule: "calls-awaited",
    name: "a call that it does not await",
    manifest: "permissions: { kv: true }",
    body: `${hello} ${done} void ctx.kv.set("last", 1);`,
  },
  { rule: "talk", name: "turns that it never asks for", manifest: "accepts: [turns]" },
  { rule: "talk", name: "words that it never asks for", manifest: "accepts: [turns, steer]", body: inTurns(done) },
  {
    rule: "talk",
    name: "turns that no session shows",
    manifest: "accepts: [turns]",
    program: true,
  },
  {
    rule: "second-turn",
    name: "knows one turn alone",
    manifest: "accepts: [turns]",
    body: inTurns(`if (turn.number > 1) throw new Error("it is over"); ${done}`),
  },
  {
    rule: "messages",
    name: "keeps a word to itself",
    manifest: "accepts: [turns, steer]",
    body: inTurns(`await Promise.race([turn.messages.next(), ctx.sleep(300)]); ${done}`),
  },
  {
    rule: "stop-turn",
    name: "hears no stop",
    manifest: "accepts: [turns, stop_turn]",
    body: inTurns(`if (turn.number === 1) await ctx.sleep(1500); ${done}`),
  },
  {
    rule: "turn-order",
    name: "speaks when it has asked",
    manifest: "accepts: [turns]",
    body: `const turns = ctx.turns[Symbol.asyncIterator]();
      for (let next = await turns.next(); !next.done;) {
        ${hello} ${done}
        const further = turns.next();
        if (next.value.kept && next.value.number === 1) yield { type: "thinking", content: "One thing more." };
        next = await further;
      }`,
  },
];

/** Adapters with nothing wrong. */
export const sound: readonly Defect[] = [
  { rule: "good", name: "says hello" },
  { rule: "good", name: "drives a program", program: true },
  {
    rule: "good",
    name: "calls tools, asks and tells what it used",
    manifest: "reports: [tool_calls, tokens, cost, permissions]",
    body: `${hello} yield [${call}, ${result}];
      yield [${ask}, { type: "request_withdrawn", request_id: "r" }, ${ask}];
      await ctx.permission("r");
      yield { ${spent}, tokens_in: 1, tokens_out: 2, cost: 0.1, currency: "USD" }; ${done}`,
  },
  {
    rule: "good",
    name: "asks a server and does without a WebSocket",
    manifest: `permissions: { net: ["asked.example:80", "talks.example:443"] }`,
    // The second session's schema is asked for in the prompt.
    script: `conformance: 1
sessions:
  - { name: hello, prompt: Say hello. }
  - { name: data, prompt: Say the names., output_schema: { type: object, required: [names] } }
servers:
  - { host: "asked.example:80", answers: [{ body: "Hello." }] }
  - { host: "talks.example:443", answers: [{ status: 404 }] }`,
    members: `async isAvailable(ctx) {
    const ok = await ctx.fetch("http://asked.example/").then((response) => response.ok, () => false);
    return { availability: ok ? "available" : "unrunnable", reason: "It was asked." };
  }`,
    body: `const response = await ctx.fetch("http://asked.example/");
      const wait_ms = Number(response.headers["retry-after"]) * 1000;
      if (response.status === 429) yield { type: "rate_limit", message: "It says no.", wait_ms };
      if (!response.ok) throw new BulkheadError(response.status === 429 ? "rate_limit" : "unavailable", "It says no.");
      let said = "";
      for await (const piece of response.body) said += piece;
      const code = await ctx.connect("wss://talks.example/").then(() => "", (error) => error.code);
      yield { type: "output", stream: "stdout", data: said + code + "\\n" };
      if (/^Say the names\\.\\n\\n.*"required":\\["names"\\]/s.test(request.prompt)) {
        yield { ...${completed}, output: '{"names":[]}' };
        return;
      }
      ${done}`,
  },
  {
    rule: "good",
    name: "takes turns, words into them, and their stop",
    manifest: "accepts: [turns, steer, stop_turn]",
    body: inTurns(`const stopped = new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
      const word = turn.messages.next();
      const heard = await Promise.race([word, stopped, ctx.sleep(300)]);
      if (heard?.value) yield { type: "message", message_id: heard.value.message_id, state: "taken" };
      ${done}`),
  },
  {
    rule: "good",
    name: "writes what it says",
    manifest: "permissions: { write: [workdir] }",
    body:
      `await ctx.fs.writeText("new.txt", "new"); yield { type: "completed", success: true, files_changed: ["./new.txt"], tokens_used: null, cost: null };`,
  },
];

const programManifest = "permissions: { run: [{ binary: tool }] }";
const programScript = `conformance: 1
programs:
  - { binary: tool, answers: [{ stdin: read, stdout: "Hello.\\n" }] }`;

/** Writes a plugin into a folder of its own. */
export async function writeDefect(folder: string, id: string, defect: Defect): Promise<void> {
  const { program, manifest = program ? programManifest : "", script = program ? programScript : undefined } = defect;
  const capabilities = /^capabilities:/m.test(manifest) ? "" : "capabilities: {}\n";
  const files: Record<string, string> = {
    "plugin.yaml": `manifest: 1\nid: ${id}\nname: Made\nversion: 1.0.0\ndescription: Made by a test.\nlicense: MIT
host: ^1.0.0\nadapter_type: agent\nentry: ./mod.js\n${capabilities}${
      manifest.includes("permissions") || !program ? manifest : `${manifest}\n${programManifest}`
    }\n`,
    "mod.js": (defect.code ?? entryOf(defect)).replaceAll("ID", id),
    ...(script === undefined ? {} : { "conformance.yaml": script }),
    ...defect.files,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

function entryOf({ program, members = "", body = `${hello} ${done}` }: Defect): string {
  const facts = {
    id: `id = "ID";`,
    name: `name = "Made";`,
    version: `version = "1.0.0";`,
    capabilities: "capabilities = {};",
    accessModes: "accessModes = [];",
  };
  const own = Object.entries(facts).filter(([key]) => !new RegExp(`(^|\\s)${key} = `).test(members)).map(([, text]) =>
    text
  );
  const base = program
    ? `findBinary() { return "tool"; }
  getVersion(ctx) { return collectOutput({ binary: "tool", args: [] }, ctx).then(() => "1.0.0"); }
  checkAuth() { return true; }
  buildCommand(request) { return { binary: "tool", args: [], stdin: request.prompt }; }
  parseOutput(line) { return { type: "output", stream: "stdout", data: line + "\\n" }; }`
    : `isAvailable() { return Promise.resolve({ availability: "available", reason: "It needs nothing." }); }
  async *runSession(request, ctx) { ${body} }`;
  return `import { AgentAdapter, BulkheadError, CliAdapter, collectOutput, RateLimitDetector, splitLines } from "bulkhead/plugin-sdk";
void [BulkheadError, collectOutput, RateLimitDetector, splitLines];
export default class Made extends ${program ? "CliAdapter" : "AgentAdapter"} {
  ${own.join("\n  ")}
  ${base}
  ${members}
}
`;
}
