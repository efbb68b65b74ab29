import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import { lookAt, nextChange } from "../../../../kit/author/watch-folder.ts";
import { errorTable } from "../../../../ground/errors/error-table.ts";
import { toErrorData } from "../../../../ground/errors/to-error-data.ts";
import type { Host } from "../../../../sessions/host/host.ts";
import type { LogRecord } from "../../../../ground/log/log-record.ts";
import { cleanLine } from "../../../../ground/log/terminal-text.ts";
import { manifestName, readManifest } from "../../../../packages/manifest/read-manifest.ts";
import { requestedWith } from "../../../../packages/permissions/requested-permissions.ts";
import { realpath, stat } from "../../../../ground/platform/files/files.ts";
import { join, resolve } from "../../../../ground/platform/files/paths.ts";
import type { Invocation } from "../../command.ts";
import { exitCodeOf } from "../../exit-code.ts";
import { watchInterrupts } from "../../interrupts.ts";
import { safeLine } from "../../render/agent-text.ts";
import { createPaint } from "../../render/paint.ts";
import { stackLines } from "../../render/message-lines.ts";
import { tellError } from "../../render/error-text.ts";
import { StatusScreen } from "../../screen/status-screen.ts";
import { showSession } from "../../show-session.ts";

/** `bulkhead plugin dev [folder] [prompt]`: runs a session after each change, with all that the manifest asks for. */
export async function pluginDev(call: Invocation): Promise<number> {
  const { terminal, createHost, options } = call;
  const { folder, prompt } = await subjectOf(call);
  const once = options["once"] === true;
  using interrupts = watchInterrupts(terminal);
  const { signal } = interrupts;
  const writeLog = (record: LogRecord): void => void showLog(call, record);
  const host = await createHost({ root: folder, stateDir: null, bundledDir: null, writeLog });
  try {
    for (;;) {
      const known = await lookAt(folder);
      // A change also ends the running session.
      const stop = new AbortController();
      const change = nextChange(folder, known, AbortSignal.any([signal, stop.signal])).catch(() => null);
      if (!once) void change.then((seen) => seen === null ? null : stop.abort(changed()));
      const code = await runOnce(call, { host, folder, prompt, signal: AbortSignal.any([signal, stop.signal]) });
      if (once || signal.aborted) {
        stop.abort();
        return code;
      }
      const next = await nextStep(call, { change, isOver: stop.signal.aborted, signal });
      // The watch of this round ends with it.
      stop.abort();
      if (next === "end" || signal.aborted) return 0;
      await say(call, next === "again" ? "Once more." : "Changed: reloading.");
    }
  } finally {
    await host.close();
  }
}

interface DevRun {
  host: Host;
  folder: string;
  prompt: string;
  signal: AbortSignal;
}

interface NextStepOptions {
  /** Resolves at a change of the folder; null when the watch has ended. */
  change: Promise<unknown>;
  /** Whether the change has come already. */
  isOver: boolean;
  signal: AbortSignal;
}

/** Waits for a change of the folder, or for a letter and Enter of the person at the terminal. */
async function nextStep(
  call: Invocation,
  { change, isOver, signal }: NextStepOptions,
): Promise<"changed" | "again" | "end"> {
  const { stdin } = call.terminal;
  const asks = stdin.isTty && call.terminal.stderr.isTty;
  const keys = asks ? "r and Enter: run it again. q and Enter, or Ctrl-C: end." : "Ctrl-C ends this.";
  if (!isOver) await say(call, `Waiting for a change. ${keys}`);
  const left = new AbortController();
  const seen = change.then((found) => found === null ? "end" as const : "changed" as const);
  const typed = asks ? typedStep(call, AbortSignal.any([signal, left.signal])) : new Promise<never>(() => {});
  try {
    return await Promise.race([seen, typed]);
  } finally {
    left.abort();
  }
}

/** Reads lines until one says what to do; pending forever where the input has ended. */
async function typedStep({ terminal }: Invocation, signal: AbortSignal): Promise<"again" | "end"> {
  for (;;) {
    const line = await terminal.stdin.readLine(signal);
    if (line === null) return await new Promise<never>(() => {});
    const word = line.trim().toLowerCase();
    if (word === "r" || word === "") return "again";
    if (word === "q") return "end";
    await terminal.stderr.write("  r and Enter runs it again, q and Enter ends this.\n");
  }
}

/** Shows an error of the plugin instead of throwing: the next change may fix it. */
async function runOnce(call: Invocation, { host, folder, prompt, signal }: DevRun): Promise<number> {
  const { terminal, json } = call;
  const screen = json ? undefined : StatusScreen.of(terminal);
  let id: string | null = null;
  try {
    const manifest = await readManifest(folder);
    const trust_tools = manifest.defaults?.trust_tools === true;
    id = (await host.registry.register(folder, { grant: requestedWith(manifest, {}), trust_tools })).id;
    const { drift } = await host.load(id);
    for (const line of drift) await warn(call, line);
    const session = await host.sessions.start(
      { workdir: terminal.cwd, prompt, retry: "never", answer_timeout_ms: 0, best_effort: true },
      { adapter: id, signal },
    );
    return exitCodeOf(
      await showSession(session, {
        terminal: screen?.terminal ?? terminal,
        adapter: id,
        status: screen && { screen },
        mode: json ? "json" : "live",
        verbose: true,
      }),
    );
  } catch (error) {
    const data = toErrorData(error);
    const paint = createPaint(terminal.colours.stderr);
    if (json) await terminal.stdout.write(`${JSON.stringify({ error: data })}\n`);
    await tellError(data, terminal);
    for (const line of stackLines(data)) await terminal.stderr.write(`  ${paint("dim", line)}\n`);
    return errorTable[data.code].exit_code;
  } finally {
    if (id !== null) await host.registry.remove(id);
  }
}

/** Reads `[folder] [prompt]`, or one of them: a single word is the folder where it holds a manifest. */
async function subjectOf({ terminal, args }: Invocation): Promise<{ folder: string; prompt: string }> {
  const [first, second] = args;
  const holds = async (path: string) => await stat(join(path, manifestName)).then(() => true, () => false);
  const named = first === undefined ? null : resolve(terminal.cwd, first);
  const isFolder = named !== null && (second !== undefined || await holds(named));
  const folder = isFolder ? named : terminal.cwd;
  if (!await holds(folder)) {
    throw new BulkheadError("not_found", `There is no ${manifestName} in ${folder}.`, {
      hint: 'Name the folder of a plugin, or make one with "bulkhead plugin new".',
    });
  }
  return { folder: await realpath(folder), prompt: (isFolder ? second : first) ?? "Say hello." };
}

function changed(): BulkheadError {
  return new BulkheadError("interrupted", "The plugin was changed while the session ran.");
}

async function showLog(
  { terminal }: Invocation,
  { level, message, plugin_id, session_id, fields }: LogRecord,
): Promise<void> {
  // The host's own lines on a session say what the view of it shows.
  if (session_id === undefined || plugin_id === undefined) return;
  const paint = createPaint(terminal.colours.stderr);
  const more = (fields ?? null) === null ? "" : ` ${JSON.stringify(fields)}`;
  const tone = level === "error" ? "red" : level === "warn" ? "yellow" : "dim";
  await terminal.stderr.write(`${paint(tone, `log ${level}:`)} ${cleanLine(`${message}${more}`, 2048)}\n`);
}

async function warn({ terminal }: Invocation, text: string): Promise<void> {
  await terminal.stderr.write(`${createPaint(terminal.colours.stderr)("yellow", "warning:")} ${safeLine(text)}\n`);
}

async function say({ terminal }: Invocation, text: string): Promise<void> {
  await terminal.stderr.write(`\n${createPaint(terminal.colours.stderr)("dim", `— ${text}`)}\n`);
}
