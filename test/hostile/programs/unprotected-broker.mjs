// A host that does what an adapter asks: files, requests and programs straight from the runtime, with its own
// environment. Usage: unprotected-broker.mjs <JSON with top, body, stage, request, workdir, root>. Prints every event
// as a line of JSON, what is logged as it is, and "done". Only loopback is asked and only below `root` is written, so
// that what gets through here harms nobody.
import { spawn } from "node:child_process";
import { mkdir, open, readdir, realpath, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";

const { top = "", body = "", stage = {}, request = {}, workdir, root } = JSON.parse(process.argv[2]);
const patienceMs = 700;
const programs = new Set(["env", "echo", "sh", "true", "cat", "find", "git", "@runtime", "planted-tool"]);
const stored = {};
const fsAt = (path) => resolve(workdir, path.replace(/^data:/, "data/"));
const say = (text) => process.stdout.write(`${text}\n`);

/** What never comes back holds a thread or the adapter for ever: for an attack on the host that is success. */
function orHung(work) {
  return Promise.race([work, new Promise((done) => setTimeout(done, patienceMs, "hung"))]);
}

async function writable(path) {
  const wanted = fsAt(path);
  const real = join(await realpath(dirname(wanted)).catch(() => dirname(wanted)), basename(wanted));
  if (`${real}/`.startsWith(`${root}/`) || real === "/dev/null") return wanted;
  throw new Error("This control writes nowhere else.");
}

const fs = {
  readText: async (path) => {
    const reading = (async () => {
      const handle = await open(fsAt(path));
      const { bytesRead, buffer } = await handle.read(new Uint8Array(65536), 0, 65536, null);
      await handle.close();
      return new TextDecoder().decode(buffer.subarray(0, bytesRead));
    })();
    return await orHung(reading);
  },
  writeText: async (path, text) => {
    const file = await writable(path);
    await mkdir(dirname(file), { recursive: true });
    await orHung(writeFile(file, text));
  },
  list: (path) => readdir(fsAt(path)),
  stat: (path) => stat(fsAt(path)),
  remove: async (path) => await rm(await writable(path)),
};

function demandNear(url) {
  const { hostname, protocol } = new URL(url);
  const near = /^(127\.|localhost$|localhost\.$|\[::|0\.0\.0\.0$|.*\.localhost$)/.test(hostname) ||
    protocol === "data:";
  if (!near) throw new Error("This control asks nobody else.");
}

async function connect(url, { headers = {} } = {}) {
  demandNear(url);
  const { WebSocket } = await import("ws");
  const socket = new WebSocket(url, { headers, followRedirects: true });
  const opened = new Promise((resolve, reject) => socket.once("open", resolve).on("error", reject));
  if (await orHung(opened) === "hung") return {};
  const ended = new Promise((done) => socket.on("close", done));
  const messages = async function* () {
    await orHung(ended);
  };
  return { messages: messages(), send: async (text) => socket.send(text) };
}

async function request_(url, init = {}) {
  demandNear(url);
  const response = await orHung(fetch(url, init));
  if (response === "hung") return { text: () => "hung", body: [] };
  const text = async () => {
    let all = "";
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      all += piece.slice(0, 10);
      if (all.length > 10_000) return "endless";
    }
    return all;
  };
  return { status: response.status, text: () => orHung(text()), body: response.body };
}

function run(binary, args, options = {}) {
  if (!programs.has(basename(binary)) && !binary.includes("tool")) throw new Error("This control runs nothing else.");
  const file = binary === "@runtime" ? process.execPath : binary.includes("/") ? resolve(workdir, binary) : binary;
  // As hosts do that put a command line together.
  const line = options.shell || binary === "echo";
  const child = spawn(line ? "sh" : file, line ? ["-c", [file, ...args].join(" ")] : args, {
    cwd: options.cwd === undefined ? workdir : resolve(workdir, options.cwd),
    env: { ...process.env, PATH: `${workdir}:${process.env.PATH}`, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exit = new Promise((done) => child.on("close", done));
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on(
      "spawn",
      () => done({ stdout: child.stdout.setEncoding("utf8"), stderr: child.stderr, exit, kill: () => child.kill() }),
    );
  });
}

const log = Object.fromEntries(
  ["debug", "info", "warn", "error"].map((level) => [level, (message, fields) => console.log(message, fields ?? "")]),
);
const ctx = {
  workdir,
  plugin_dir: join(root, "package"),
  fs,
  temp: { write: (name, text) => fs.writeText(join(root, "temp", name), text) },
  fetch: request_,
  connect,
  run: async (binary, args, options) => await run(binary, args, options),
  env: { get: (name) => Promise.resolve(process.env[name] ?? request.env?.[name]) },
  kv: {
    get: (key) => Promise.resolve(stored[key]),
    set: (key, value) => Promise.resolve(stored[key] = value),
    list: (prefix) => Promise.resolve(Object.keys(stored).filter((key) => key.startsWith(prefix))),
  },
  log,
  sleep: (ms) => new Promise((done) => setTimeout(done, Math.min(ms, 2000))),
  permission: () => new Promise(() => {}),
};

const make = new Function("stage", "console", `${top}\nreturn async function* (request, ctx) {\n${body}\n};`);
try {
  for await (const event of make(stage, console)(request, ctx)) say(JSON.stringify(event));
} catch (error) {
  say(`failed: ${error.message}`);
}
say("done");
process.exit(0);
