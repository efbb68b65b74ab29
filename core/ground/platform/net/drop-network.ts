import process from "node:process";

/**
 * Gives up the network for this thread. Node 26.12 asks for it before a process without permissions may open a pipe by its
 * number, so such a process starts with it, and each of its threads opens its pipe and calls this. Elsewhere nothing
 * happens: the process never had the network, or the runtime cannot refuse it.
 */
export function dropNetwork(): void {
  // `drop` is not yet declared.
  const permission = process.permission as { drop?(scope: string): void } | undefined;
  permission?.drop?.("net");
}
