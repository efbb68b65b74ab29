import process from "node:process";

/** Which of the two runtimes this is. */
export const runtimeName: "node" | "deno" = "Deno" in globalThis ? "deno" : "node";

/** The runtime's name and version, such as `node 20.19.0`. */
export const runtimeVersion: string = runtimeName === "deno"
  ? `deno ${process.versions["deno"]}`
  : `node ${process.versions.node}`;

/** `linux`, `darwin` or `win32`. */
export const platform: string = process.platform;

/** Path of the running runtime's executable. */
export const execPath: string = process.execPath;

/**
 * The same path, written so that it can be handed to other programs. Deno looks for its own path in what it starts, and
 * puts `-A` behind it when it finds no permission that it knows.
 */
export const execPathForOthers: string = runtimeName === "deno"
  ? process.execPath.replace(/[\\/](?=[^\\/]+$)/, "$&./")
  : process.execPath;

/** Value of one of the host's own environment variables. */
export function hostEnv(name: string): string | undefined {
  return process.env[name];
}

/** Sets one of the host's own environment variables, or removes it; returns what it was. For attacks on ourselves. */
export function setHostEnv(name: string, value: string | undefined): string | undefined {
  const before = process.env[name];
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
  return before;
}

/** Id of this process. */
export const pid: number = process.pid;

/** The folder the host was started in. */
export function workingDirectory(): string {
  return process.cwd();
}

/** A copy of the host's environment, for libraries that take one. */
export function hostEnvironment(): Record<string, string | undefined> {
  return { ...process.env };
}

/** Whether this process runs as root; false where the runtime does not say. */
export function isRoot(): boolean {
  try {
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
}

/** Architecture of the machine as the runtime names it, such as `x64` or `arm64`. */
export const architecture: string = process.arch;
