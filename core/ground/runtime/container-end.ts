import { constants } from "node:os";
import type { ExitStatus } from "./child-process.ts";

/**
 * How a program in a container ended, by how the container did: that says 128 + n for a program that signal n ended, as
 * shells do.
 */
export function containerEnd({ exit_code, signal }: ExitStatus): ExitStatus {
  const name = Object.entries(constants.signals).find(([, number]) => number + 128 === exit_code)?.[0];
  return name === undefined ? { exit_code, signal } : { exit_code: null, signal: name };
}
