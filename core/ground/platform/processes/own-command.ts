import process from "node:process";
import { existsSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import { execPath, runtimeName } from "../engine/platform.ts";

/** Deno's permissions for the command line. The broker checks programs and files; the network is this machine's own. */
const denoPermissions: readonly string[] = [
  "--allow-read",
  "--allow-write",
  "--allow-run",
  "--allow-env",
  "--allow-net=127.0.0.1,localhost",
  "--allow-ffi=node_modules",
  "--allow-sys=cpus,osRelease,hostname,systemMemoryInfo,networkInterfaces,uid,gid,homedir",
];

/** The command that runs this very program again, up to its arguments, from any working directory. */
export function ownCommand(): string[] {
  const script = process.argv[1] ?? "";
  if (runtimeName === "node") return [execPath, script];
  return [execPath, "run", ...(mayAll() ? ["--allow-all"] : denoPermissions), script];
}

/** The command as a person would type it to run this program again from a working directory. */
export function typedCommand(cwd: string = process.cwd()): string {
  const named = process.env["BULKHEAD_COMMAND"];
  if (named !== undefined && named !== "") return named;
  const script = process.argv[1] ?? "";
  // Scripts of npm run with packages' programs that a shell does not find.
  if (runtimeName === "node") return process.env["npm_lifecycle_event"] === undefined ? "bulkhead" : "npx bulkhead";
  return isOnPath("bulkhead") ? "bulkhead" : `deno run -A ${relative(cwd, script)}`;
}

function isOnPath(name: string): boolean {
  try {
    return (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)));
  } catch {
    return false;
  }
}

/** Whether this process may open unix sockets: Deno allows them only with the whole network. */
export function mayOpenSockets(): boolean {
  return runtimeName === "node" || isGranted("net");
}

/** Whether this process may do all that Deno can allow. */
function mayAll(): boolean {
  return ["run", "read", "write", "net", "env", "sys", "ffi"].every(isGranted);
}

function isGranted(name: string): boolean {
  const { permissions } = Reflect.get(globalThis, "Deno") as DenoPermissions;
  return permissions.querySync({ name }).state === "granted";
}

interface DenoPermissions {
  permissions: { querySync(descriptor: { name: string }): { state: string } };
}

/** The command that runs a script with the runtime of this host: program, then the arguments before the script. */
export function runtimeCommand(): { file: string; prefix: string[] } {
  if (runtimeName === "node") return { file: execPath, prefix: [] };
  return { file: execPath, prefix: ["run", "--no-prompt", "--allow-read", "--allow-write", "--allow-env"] };
}

/** Arguments of the runtime before the script that opens the ports of a network: code of ours. */
export const networkArguments: readonly string[] = runtimeName === "node"
  ? ["--no-warnings"]
  : ["run", "--quiet", "--no-prompt", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--allow-all"];
