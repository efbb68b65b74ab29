import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { within } from "../engine/within.ts";
import { hostEnv } from "../engine/platform.ts";
import { isAbsolute } from "../files/paths.ts";
import { findProgram } from "../os-walls/try-program.ts";
import { startPlainProgram } from "./plain-program.ts";
import { sendSignal } from "./send-signal.ts";

/** Variables of the host that a program of the operator gets: those by which it reaches the desktop, and no key. */
const passed: readonly string[] = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "XDG_RUNTIME_DIR",
  "DBUS_SESSION_BUS_ADDRESS",
];

/** How long output is waited for after the program is gone. Milliseconds. */
const lingerMs = 500;

interface OperatorProgramOptions {
  stdin: string;
  /** Most time that it gets. Milliseconds. */
  ms: number;
  signal: AbortSignal;
}

/**
 * Runs a program of the operator without walls, in the folder `/`, and waits for it. It ends with the host.
 * @param file a name on the PATH, or an absolute path
 * @throws {BulkheadError} `binary_missing`, `io_error` where it cannot be started or fails, `timeout`
 */
export async function runOperatorProgram(
  file: string,
  args: readonly string[],
  { stdin, ms, signal }: OperatorProgramOptions,
): Promise<void> {
  const program = isAbsolute(file) ? file : await findProgram(file);
  if (program === null) throw new BulkheadError("binary_missing", `Cannot start "${file}": it is not on the PATH.`);
  const known = passed.flatMap((name) => {
    const value = hostEnv(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const command = { file: program, args: [...args], cwd: "/", env: Object.fromEntries(known) };
  const child = await startPlainProgram(command, { stdin: "open", endsWithHost: true }).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BulkheadError("io_error", `Cannot start "${file}": ${why}.`, { cause });
  });
  const late = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  const end = () => sendSignal(-child.pid, "SIGKILL") || sendSignal(child.pid, "SIGKILL");
  late.addEventListener("abort", end, { once: true });
  let words = "";
  child.stdout.resume();
  child.stderr.on("data", (chunk: Uint8Array) => {
    if (words.length < 1000) words += new TextDecoder().decode(chunk);
  });
  // It need not read what it is told.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(stdin);
  const isSaid = new Promise((resolve) => child.stderr.once("close", resolve));
  const { exit_code } = await child.exited;
  // What it started may hold its output open.
  await within(isSaid, lingerMs);
  late.removeEventListener("abort", end);
  if (late.aborted) throw new BulkheadError("timeout", `"${file}" took longer than ${ms} ms, and was ended.`);
  if (exit_code === 0) return;
  const said = words.trim().split("\n").at(-1)?.slice(0, 200) ?? "";
  throw new BulkheadError("io_error", `"${file}" failed${said === "" ? "." : `: ${said}`}`);
}
