// A host that trusts its adapters: it evaluates their code in its own realm, once for all sessions, hands out live
// objects, reads what they yield as often as it likes and logs it. Usage: unprotected-realm.mjs <JSON with top,
// members, body, request, before, stage, workdir>. Prints every event as a line of JSON, and "done".
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { inspect } from "node:util";

const { top = "", members = "", body = "", request = {}, before, stage = {}, workdir, interruptAfterMs } = JSON.parse(
  process.argv[2],
);
const say = (event) => process.stdout.write(`${JSON.stringify(event) ?? "undefined"}\n`);
const stored = new Map();
const files = new Map();
globalThis.require = createRequire(import.meta.url);
globalThis.Buffer = Buffer;
globalThis.process = process;

const sdk =
  `const AgentAdapter = class {}; const BulkheadError = class extends Error {}; const defineAdapter = (one) => one;`;
const code = `${sdk}\n${top.replace(/^import .*$/gm, "")}\nreturn { ${members}\nasync *runSession(request, ctx) {
const stage = ${JSON.stringify(stage)};\n${body}\n} };`;
const adapter = new Function(code)();

if (before) await session(before);
await session(request);
await new Promise((resolve) => setTimeout(resolve, 100));
// Megabytes may still wait for their reader, and an exit would drop them.
process.stdout.write("done\n", () => process.exit(0));

async function session(asked) {
  const controller = new AbortController();
  const ctx = context(controller.signal);
  await adapter.initialize?.({});
  if (interruptAfterMs !== undefined) setTimeout(() => controller.abort(), 300);
  for await (const yielded of adapter.runSession({ prompt: "go", ...asked }, ctx)) take(yielded);
  await adapter.shutdown?.();
}

/** Looks at an event before it passes it on, and shows it to its log: each look may see something else. */
function take(event) {
  if (Array.isArray(event)) return event.slice(0, 1000).forEach(take);
  try {
    if (event === null || typeof event !== "object") {
      return say({ type: "taken", message: `BREACH: a ${typeof event} was taken` });
    }
    const type = `${event.type} ${event.message}`;
    inspect(event, { depth: 1 });
    merge({}, event);
    say(event);
    if (type.includes("BREACH")) say({ type: "taken", message: type });
  } catch (error) {
    // What cannot be written is kept as it is.
    say({ type: "taken", message: `BREACH: it was taken as it is: ${error.name}` });
  }
}

function merge(target, source) {
  for (const key in source) {
    if (typeof source[key] === "object" && source[key] !== null && typeof target[key] === "object") {
      merge(target[key], source[key]);
    } else target[key] = source[key];
  }
}

function context(signal) {
  return {
    signal,
    session_id: "session",
    workdir,
    sleep: (ms) =>
      new Promise((resolve, reject) => {
        setTimeout(resolve, Math.min(ms, 1000));
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
    permission: (id) => Promise.resolve(({})[id] ?? { id: "yes", kind: "allow_once" }),
    run(binary, args) {
      const child = spawn(binary, [...args], { cwd: workdir, stdio: ["pipe", "pipe", "pipe"] });
      child.exit = new Promise((resolve) => child.on("exit", resolve));
      child.on("error", () => {});
      return Promise.resolve(child);
    },
    fetch: (url) => Promise.reject(new Error(`This control asks nobody: ${url}`)),
    fs: {
      async readText(path) {
        if (`${path}`.startsWith("/") || `${path}`.includes("..")) throw new Error("It is outside.");
        return await readFile(join(path.toString().startsWith("/") ? "/" : workdir, `${path}`), "utf8");
      },
      list: (path) => Promise.reject(Object.assign(new Error(`no ${path}`), { path, syscall: "scandir" })),
      writeText: (path) => Promise.reject(Object.assign(new Error(`no ${path}`), { path, syscall: "open" })),
    },
    temp: {
      write: (name, text) => Promise.resolve(void files.set(name, text)),
      read: (name) => Promise.resolve(files.get(name) ?? "none"),
    },
    env: { get: (name) => Promise.resolve(process.env[name]) },
    kv: {
      calls: [],
      get(key) {
        (this.calls ?? []).push(key);
        return Promise.resolve(stored.get(key) ?? {}[key] ?? null);
      },
      set(key, value) {
        (this.calls ?? []).push(key);
        stored.set(key, value);
        return Promise.resolve();
      },
      delete: (key) => Promise.resolve(void stored.delete(key)),
    },
    log: {
      info: (...all) => void inspect(all),
      error: (...all) => void inspect(all, { depth: 5 }),
    },
  };
}
