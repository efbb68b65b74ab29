import { hostEnv } from "../platform/engine/platform.ts";

/** Returns the command line that gives a secret its value: one in the host's environment need not be typed again. */
export function secretCommand(name: string): string {
  const command = `bulkhead secret set ${name}`;
  return hostEnv(name) ? `printenv ${name} | ${command}` : command;
}
