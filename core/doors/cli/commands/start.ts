import { BulkheadError, type ErrorData, errorFromData, isErrorCode } from "../../../../plugin-sdk/errors.ts";
import type { DaemonRecord } from "../../daemon/daemon-record.ts";
import { inspectDaemon } from "../../daemon/inspect-daemon.ts";
import { startDetached } from "../../../ground/platform/processes/detached-process.ts";
import { folderFault } from "../../../ground/errors/write-fault.ts";
import { mkdir, rm } from "../../../ground/platform/files/files.ts";
import { ownCommand } from "../../../ground/platform/processes/own-command.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { sleep } from "../../../ground/platform/engine/wait.ts";
import { askDaemon } from "../ask-daemon.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { daemonPlace } from "../daemon-place.ts";
import { demandOwnProject } from "../project-daemon.ts";
import { safeLine } from "../render/agent-text.ts";
import { whileWaiting } from "../while-waiting.ts";
import { outOfReach } from "./stop.ts";
import { daemonText, readPort } from "./up.ts";
import { asTyped } from "../render/as-typed.ts";

/** Time until a daemon must take requests, long enough to migrate a long journal. Milliseconds. */
const startMs = 120_000;
const lookEveryMs = 25;

/** `bulkhead start`. */
export const defineStart: DefineCommand = (command, bind) => {
  command
    .option("--port <number>", "TCP port on 127.0.0.1, 0 for any that is free; default: daemon.port", readPort)
    .addHelpText(...examples(
      ["bulkhead start", "the daemon in the background; waits until it takes requests"],
      ["bulkhead start --json | jq -r .daemon.address", "where it is"],
    ))
    .action(bind(start));
};

/** Starts the daemon in the background, unless it runs. */
export async function start(call: Invocation): Promise<number> {
  const { terminal, json } = call;
  const place = await daemonPlace(call);
  const { stateDir, problem } = place;
  const view = await inspectDaemon(stateDir);
  if (view.state === "running" && view.record !== null) {
    demandOwnProject(view.record, { place, act: "start a daemon for this project" });
    if ((await askDaemon(view))?.refusal?.code === "host_closed") {
      throw new BulkheadError("busy", `Cannot start the daemon: process ${view.pid} is shutting down.`, {
        hint: '"bulkhead restart" waits for its end and starts another one.',
      });
    }
    await tell(call, { record: view.record, already: true });
    if (view.record.config_file === null && place.configFile !== undefined) {
      const file = safeLine(place.configFile);
      await terminal.stderr.write(asTyped(`It does not use ${file} yet. To do so: bulkhead restart\n`));
    }
    return 0;
  }
  if (view.state === "elsewhere") throw outOfReach("start the daemon", view);
  if (problem !== null) throw problem;
  const record = await whileWaiting("Starting the daemon …", { terminal, work: startInBackground(call) });
  await tell(call, { record, already: false });
  if (view.state === "killed" && !json) {
    await terminal.stderr.write("The previous daemon was killed; its leftovers were cleaned up.\n");
  }
  return 0;
}

async function tell(
  call: Invocation,
  { record, already }: { record: DaemonRecord; already: boolean },
): Promise<void> {
  const { terminal, json } = call;
  if (json) {
    return void await terminal.stdout.write(`${JSON.stringify({ daemon: record, already_running: already })}\n`);
  }
  if (already) await terminal.stdout.write("The daemon is already running.\n");
  await terminal.stdout.write(`${daemonText(record, call)}\n`);
}

/**
 * Starts the daemon as a separate process and waits until it takes requests.
 * @param options.configFile the host manifest where the command has none
 * @throws {BulkheadError} why it could not start, `timeout` when it takes too long, `crash` when it ended silently
 */
export async function startInBackground(
  call: Invocation,
  { configFile: before }: { configFile?: string | undefined } = {},
): Promise<DaemonRecord> {
  const { stateDir, configFile = before } = await daemonPlace(call);
  await mkdir(stateDir, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw cannotWrite(stateDir, cause);
  });
  const outputFile = join(stateDir, "daemon.out");
  const child = await startDetached([...ownCommand(), ...upArguments(call, { stateDir, configFile })], {
    cwd: call.terminal.cwd,
    outputFile,
  }).catch((cause: unknown) => {
    throw cannotStart(stateDir, cause);
  });
  const exit: { code: number | null | undefined } = { code: undefined };
  void child.exited.then((code) => (exit.code = code));
  try {
    for (const end = Date.now() + startMs; Date.now() < end; await sleep(lookEveryMs)) {
      if (exit.code !== undefined) throw whyEnded(child.output(), exit.code);
      const view = await inspectDaemon(stateDir);
      if (view.state !== "running" || view.record?.pid !== child.pid) continue;
      await rm(outputFile, { force: true });
      return view.record!;
    }
  } finally {
    child.close();
  }
  throw new BulkheadError("timeout", `The daemon, process ${child.pid}, does not take requests after ${startMs} ms.`, {
    hint: `Look into ${join(stateDir, "daemon.log")}, or stop it with "bulkhead stop".`,
  });
}

/** Builds the arguments that run the same program with the same flags, in the foreground of its own session. */
function upArguments(
  { options }: Invocation,
  { stateDir, configFile }: { stateDir: string; configFile: string | undefined },
): string[] {
  const { port } = options;
  return [
    "up",
    "--json",
    "--state-dir",
    stateDir,
    ...(configFile === undefined ? [] : ["--config", configFile]),
    ...(typeof port === "number" ? ["--port", String(port)] : []),
  ];
}

/** @param cause of the file of its output, or of the process itself */
function cannotStart(stateDir: string, cause: unknown): BulkheadError {
  const isOfFile = cause instanceof Error && "syscall" in cause && !String(cause.syscall).startsWith("spawn");
  if (isOfFile) return cannotWrite(stateDir, cause);
  const why = cause instanceof Error ? cause.message : String(cause);
  return new BulkheadError("io_error", `Cannot start the daemon: its process could not be made (${why}).`, { cause });
}

function cannotWrite(stateDir: string, cause: unknown): BulkheadError {
  const { state, hint } = folderFault(cause, stateDir);
  return new BulkheadError("io_error", `Cannot start the daemon: ${state}.`, { hint, cause });
}

/** Most lines that are shown of what a daemon said that is not an error of Bulkhead's. */
const mostLines = 20;

/** Returns the error that a daemon printed when it could not start. */
function whyEnded(output: string, code: number | null): BulkheadError {
  const lines = output.split("\n");
  for (const line of lines) {
    const error = errorIn(line);
    if (error !== null) return errorFromData(error);
  }
  const how = code === null ? "was killed" : `ended with exit code ${code}`;
  const said = lines.slice(-mostLines).map(safeLine).join("\n");
  return new BulkheadError("crash", `Cannot start the daemon: its process ${how}.`, {
    hint: output === "" ? "It said nothing." : `It said:\n${said}`,
  });
}

function errorIn(line: string): ErrorData | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null || !("error" in value)) return null;
    const { error } = value;
    if (typeof error !== "object" || error === null || !("code" in error) || !isErrorCode(error.code)) return null;
    return error as ErrorData;
  } catch {
    return null;
  }
}
