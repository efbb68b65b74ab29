import { BulkheadError, type CliCommand, type SessionRequest } from "bulkhead/plugin-sdk";

/** The program's name. */
export const binary = "opencode";

/** Without it the program may replace itself, and a pinned one would no longer be what was granted. */
export const quietEnv: Readonly<Record<string, string>> = { OPENCODE_DISABLE_AUTOUPDATE: "1" };

/**
 * The command of one session. The prompt comes on standard input, so that no prompt can be an option.
 * @throws {BulkheadError} `invalid_request`, `invalid_model`
 */
export function runCommand({ prompt, model, continue_from: session }: SessionRequest): CliCommand {
  if (model !== undefined && !/^\w[^/]*\/\S+$/.test(model)) {
    throw new BulkheadError("invalid_model", `Model "${model}" is not offered: OpenCode takes provider/model.`, {
      hint: "`opencode models` lists them.",
    });
  }
  if (session !== undefined && !/^\w/.test(session)) {
    throw new BulkheadError(
      "invalid_request",
      `Cannot continue "${session}": it is not the id of an OpenCode session.`,
    );
  }
  return {
    binary,
    args: [
      ...["run", "--format", "json", "--thinking"],
      ...(model === undefined ? [] : ["-m", model]),
      ...(session === undefined ? [] : ["-s", session]),
    ],
    env: { ...quietEnv },
    stdin: prompt,
  };
}
