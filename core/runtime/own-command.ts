import process from "node:process";
import { execPath, runtimeName } from "./platform.ts";

/**
 * What Deno must allow the command line: programs and files are the broker's and the plugins' affair, the network is
 * this machine's own.
 */
export const denoPermissions: readonly string[] = [
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

/** Whether this process may do all that Deno can allow. */
function mayAll(): boolean {
  const { permissions } = Reflect.get(globalThis, "Deno") as DenoPermissions;
  const kinds = ["run", "read", "write", "net", "env", "sys", "ffi"];
  return kinds.every((name) => permissions.querySync({ name }).state === "granted");
}

interface DenoPermissions {
  permissions: { querySync(descriptor: { name: string }): { state: string } };
}
