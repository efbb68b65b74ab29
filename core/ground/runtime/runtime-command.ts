import { execPath, runtimeName } from "./platform.ts";

/** The command that runs a script with the runtime of this host: program, then the arguments before the script. */
export function runtimeCommand(): { file: string; prefix: string[] } {
  if (runtimeName === "node") return { file: execPath, prefix: [] };
  return { file: execPath, prefix: ["run", "--no-prompt", "--allow-read", "--allow-write", "--allow-env"] };
}

/** Arguments of the runtime before the script that opens the ports of a network: code of ours. */
export const networkArguments: readonly string[] = runtimeName === "node"
  ? ["--no-warnings"]
  : ["run", "--quiet", "--no-prompt", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--allow-all"];
