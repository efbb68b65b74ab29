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

function replay(prompt) {
  const name = /\[\[scn:([\w-]+)\]\]/.exec(prompt)?.[1] ?? "ok";
  const { exit_code = 0, stderr = [], writes = {} } = scenarios[name] ?? {};
  const files = new Map(Object.entries(writes));
  for (const line of stderr) process.stderr.write(`${line}\n`);
  const recorded = join(fixtures, `${name}.jsonl`);
  const text = existsSync(recorded) ? readFileSync(recorded, "utf8") : (scenarios[name]?.stdout ?? []).join("\n");
  const workdir = JSON.stringify(process.cwd()).slice(1, -1);
  const lines = text.replaceAll("{{workdir}}", workdir).split("\n").filter((line) => line !== "");
  const cut = prompt.includes("[[cut]]") ? lines.pop() : undefined;
  for (const line of lines) print(line, { files });
  if (cut !== undefined) process.stdout.write(cut.slice(0, cut.length / 2));
  if (prompt.includes("[[stay]]")) return startShell();
  // Null: a signal ended it.
  if (exit_code === null) process.kill(process.pid, "SIGTERM");
  else process.exitCode = exit_code;
}

const probe = probes[args.join(" ")];
if (probe) {
  process.stdout.write(`${probe.stdout ?? ""}\n`);
  process.exitCode = probe.exit_code ?? 0;
} else {
  const prompt = await readAll(process.stdin);
  const relaunched = process.env.STAND_IN_CHILD !== undefined;
  if (!relaunched) appendFileSync(join(home, "calls.jsonl"), `${JSON.stringify({ args, prompt, env: process.env })}\n`);
  if (prompt.includes("[[launcher]]") && !relaunched) launch(prompt);
  else replay(prompt);
}
