import { constants } from "node:os";
import process from "node:process";
import { runtimeName } from "./platform.ts";

/** `SIG_IGN` of the C library. */
const ignore = 1;

/**
 * Keeps SIGUSR1 from opening this process to a debugger. Node and Deno (from 2.9.2) answer that signal, which any process
 * of the same user may send, by listening for a debugger that may run any code here.
 *
 * Node leaves the signal alone once it has a listener. Deno starts its debugger beside a listener, so there the C library
 * ignores the signal; a Deno process that may not call the C library ends at the signal instead. The listener stays for
 * the life of the process: without one the signal ends it.
 */
export function keepInspectorShut(): void {
  if (process.platform === "win32" || process.listenerCount("SIGUSR1") > 0) return;
  process.on("SIGUSR1", runtimeName === "deno" ? () => process.exit(128 + constants.signals.SIGUSR1) : () => {});
  // After the listener: Deno installs its handler with the first one, once for the process.
  if (runtimeName === "deno") ignoreByLibrary();
}

function ignoreByLibrary(): void {
  const deno: unknown = Reflect.get(globalThis, "Deno");
  try {
    const name = process.platform === "darwin" ? "libSystem.dylib" : "libc.so.6";
    (deno as DenoForeign).dlopen(name, { signal: { parameters: ["i32", "isize"], result: "isize" } }).symbols.signal(
      constants.signals.SIGUSR1,
      ignore,
    );
  } catch {
    // No permission, or another C library: the listener ends the process.
  }
}

interface DenoForeign {
  dlopen(file: string, symbols: { signal: { parameters: ["i32", "isize"]; result: "isize" } }): {
    symbols: { signal(number: number, handler: number): unknown };
  };
}
