// Stands in for an agent's program: replays what the real one was recorded to print. Run as
// <runtime> stand-in-program.mjs <home> <fixtures> <arguments of the real program>, by a script that bears its name.
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";

const [home, fixtures, ...args] = process.argv.slice(2);
const { probes = {}, ...scenarios } = JSON.parse(readFileSync(join(fixtures, "scenarios.json"), "utf8"));

/** Prints a recorded line; the files of the scenario are there before the first line that names them. */
function print(line, { files }) {
  for (const [path, text] of files) {
    if (!line.includes(path)) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    files.delete(path);
  }
  process.stdout.write(`${line}\n`);
}

async function readAll(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

/** As agents do: the tool's shell is in a session of its own. */
function startShell() {
  spawn("sh", ["-c", "while :; do sleep 1; done", home], { detached: true, stdio: "ignore" }).unref();
  setInterval(() => {}, 1000);
}

/** As a launcher that starts itself anew, and leaves what it is told by signals to its child. */
function launch(prompt) {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});
  const prefix = "Deno" in globalThis ? ["run", "-A"] : [];
  const script = [...prefix, process.argv[1], home, fixtures, ...args];
  const child = spawn(process.execPath, script, {
    stdio: ["pipe", "inherit", "inherit"],
    env: { ...process.env, STAND_IN_CHILD: "1" },
  });
  child.stdin.end(prompt);
  child.on("exit", (code) => process.exit(code ?? 0));
}

function scenarioOf(prompt) {
  return /\[\[scn:([\w-]+)\]\]/.exec(prompt)?.[1] ?? "ok";
}

function recordedLines(name) {
  const recorded = join(fixtures, `${name}.jsonl`);
  const text = existsSync(recorded) ? readFileSync(recorded, "utf8") : (scenarios[name]?.stdout ?? []).join("\n");
  const workdir = JSON.stringify(process.cwd()).slice(1, -1);
  return text.replaceAll("{{workdir}}", workdir).split("\n").filter((line) => line !== "");
}

function replay(prompt) {
  const name = scenarioOf(prompt);
  const { exit_code = 0, stderr = [], writes = {} } = scenarios[name] ?? {};
  const files = new Map(Object.entries(writes));
  for (const line of stderr) process.stderr.write(`${line}\n`);
  const lines = recordedLines(name);
  const cut = prompt.includes("[[cut]]") ? lines.pop() : undefined;
  for (const line of lines) print(line, { files });
  if (cut !== undefined) process.stdout.write(cut.slice(0, cut.length / 2));
  if (prompt.includes("[[stay]]")) return startShell();
  // Null: a signal ended it.
  if (exit_code === null) process.kill(process.pid, "SIGTERM");
  else process.exitCode = exit_code;
}

/** As a server: each part of the recording follows the message that it answers, and the prompt chooses the recording. */
async function serve() {
  let [prompt, parts, rest] = ["", [], ""];
  for await (const piece of process.stdin) {
    const lines = (rest + piece.toString("utf8")).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const { id, method, params } = JSON.parse(line);
      const sent = { args, message: JSON.parse(line), env: process.env };
      appendFileSync(join(home, "calls.jsonl"), `${JSON.stringify({ ...sent, prompt: "" })}\n`);
      if (method === "turn/start") prompt = params.input[0].text;
      if (method === "initialize" || method === "turn/start") parts = partsOf(prompt);
      if (method === "turn/start") parts.splice(0, 2);
      if (method === "initialized") continue;
      say(parts.shift() ?? [], { id, prompt, isLast: prompt !== "" && parts.length === 0 });
    }
  }
}

/** Parts of the recording that a prompt names: one begins with each answer, and after each request. */
function partsOf(prompt) {
  const parts = [];
  let isAsked = true;
  for (const line of recordedLines(scenarioOf(prompt))) {
    const { id, method } = JSON.parse(line);
    if (isAsked || (id !== undefined && method === undefined)) parts.push([]);
    parts.at(-1).push(line);
    isAsked = id !== undefined && method !== undefined;
  }
  return parts;
}

function say(lines, { id, prompt, isLast }) {
  const { exit_code = 0, stderr = [], writes = {} } = scenarios[scenarioOf(prompt)] ?? {};
  const files = new Map(Object.entries(writes));
  const cut = isLast && prompt.includes("[[cut]]") ? lines.pop() : undefined;
  for (const line of lines) {
    const message = JSON.parse(line);
    print("result" in message && id !== undefined ? JSON.stringify({ ...message, id }) : line, { files });
  }
  if (!isLast) return;
  for (const line of stderr) process.stderr.write(`${line}\n`);
  if (cut !== undefined) process.stdout.write(cut.slice(0, cut.length / 2), () => process.exit(0));
  else if (prompt.includes("[[stay]]")) startShell();
  // Null: a signal ended it.
  else if (exit_code === null) process.stdout.write("", () => process.kill(process.pid, "SIGTERM"));
}

const probe = probes[args.join(" ")];
if (probe) {
  process.stdout.write(`${probe.stdout ?? ""}\n`);
  process.exitCode = probe.exit_code ?? 0;
} else if (args[0] === "app-server") await serve();
else {
  const prompt = await readAll(process.stdin);
  const relaunched = process.env.STAND_IN_CHILD !== undefined;
  if (!relaunched) appendFileSync(join(home, "calls.jsonl"), `${JSON.stringify({ args, prompt, env: process.env })}\n`);
  if (prompt.includes("[[launcher]]") && !relaunched) launch(prompt);
  else replay(prompt);
}
