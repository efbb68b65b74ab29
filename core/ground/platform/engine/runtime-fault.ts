import satisfies from "semver/functions/satisfies.js";
import { runtimeVersion } from "./platform.ts";

/** It shows in `strace -f --failed-only -e trace=close` of any program that opens and closes unix sockets. */
const closesTwice = ">=2.7.12 <2.9.6";

/**
 * Describes a fault of this version of the runtime with its remedy; null for versions without one.
 * @param version as {@link runtimeVersion}, such as `deno 2.9.5`
 */
export function runtimeFault(version: string = runtimeVersion): string | null {
  const [name, number = ""] = version.split(" ");
  if (name !== "deno" || !satisfies(number, closesTwice)) return null;
  return `Deno ${number} closes each unix socket twice, and the second time may hit a file or a socket that the host has just ` +
    "opened: requests may hang or fail, and Deno may end. Use Deno 2.9.6 or newer: deno upgrade.";
}
