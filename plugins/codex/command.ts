import { BulkheadError, type CliCommand, type SessionRequest } from "bulkhead/plugin-sdk";

/** The command of a session: a server that is asked for everything else, on its standard input. */
export function serverCommand({ byPlan }: { byPlan: boolean }): CliCommand {
  // A key in the environment would be used before the login.
  return { binary: "codex", args: ["app-server"], env: byPlan ? { CODEX_API_KEY: "" } : undefined, stdin: "" };
}

/** Settings of a thread. */
export interface Opening {
  /** Codex's own sandbox for its commands. */
  sandbox: "workspace-write" | "read-only" | "danger-full-access";
  /** Whether it asks before it changes files or runs more than a known harmless command. */
  asks: boolean;
  model?: string | undefined;
  /** Thread to go on with. */
  thread?: string | undefined;
  /** Whether to go on in a copy of it: up to the end of a turn, or all of it. */
  fork?: SessionRequest["fork"];
}

/** Options of {@link openingOf}. */
interface OpeningOptions extends Pick<Opening, "asks" | "model" | "thread" | "fork"> {
  sandbox: unknown;
  /** Whether the host's walls are around the program: Codex's own sandbox cannot start inside them. */
  contained: boolean;
}

/**
 * Checks the settings of a thread.
 * @throws {BulkheadError} `invalid_request`, `invalid_model`
 */
export function openingOf({ sandbox, contained, asks, model, thread, fork }: OpeningOptions): Opening {
  if (sandbox !== "workspace-write" && sandbox !== "read-only") {
    throw new BulkheadError(
      "invalid_request",
      'Cannot start Codex: "sandbox" is neither workspace-write nor read-only.',
    );
  }
  if (model !== undefined && !/^\w/.test(model)) {
    throw new BulkheadError("invalid_model", `Model "${model}" is not offered: its name does not begin as one.`);
  }
  if (thread !== undefined && !/^\w/.test(thread)) {
    throw new BulkheadError("invalid_request", `Cannot continue "${thread}": it is not the id of a Codex thread.`);
  }
  const own = contained && sandbox === "workspace-write" ? "danger-full-access" : sandbox;
  return { sandbox: own, asks, model, thread, fork };
}
