import { BulkheadError, type CliCommand } from "bulkhead/plugin-sdk";

/** Options of {@link execCommand}. */
interface ExecOptions {
  prompt: string;
  sandbox: unknown;
  model?: string | undefined;
  /** Thread to go on with. */
  thread?: string | undefined;
  /** Whether the host's walls are around the program: Codex's own sandbox cannot start inside them. */
  contained: boolean;
  /** Whether the plan of the login pays, and no key. */
  byPlan: boolean;
}

/**
 * The command of one session. The prompt comes on standard input, so that no prompt can be an option.
 * @throws {BulkheadError} `invalid_request`, `invalid_model`
 */
export function execCommand({ prompt, sandbox, contained, model, thread, byPlan }: ExecOptions): CliCommand {
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
  return {
    binary: "codex",
    args: [
      ...["exec", "--json", "--skip-git-repo-check", "--sandbox", own],
      ...(model === undefined ? [] : ["-m", model]),
      ...(thread === undefined ? [] : ["resume", thread]),
      "-",
    ],
    // A key in the environment would be used before the login.
    env: byPlan ? { CODEX_API_KEY: "" } : undefined,
    stdin: prompt,
  };
}
