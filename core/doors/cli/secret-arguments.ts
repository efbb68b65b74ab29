import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { isName } from "../../ground/config/permission-problems.ts";
import { secretsFile } from "../../walls/secrets/store.ts";
import type { Invocation } from "./command.ts";

/** Returns the file of stored secrets for the person at this terminal. */
export function storeOf({ terminal }: Pick<Invocation, "terminal">): string {
  const env = Object.fromEntries(["HOME", "XDG_DATA_HOME"].map((name) => [name, terminal.env(name)]));
  return secretsFile(env);
}

/**
 * Checks a secret's name as typed.
 * @throws {BulkheadError} `invalid_config`
 */
export function checkedName(typed: string | undefined): string {
  if (typed !== undefined && typed.length <= 256 && isName(typed)) return typed;
  throw new BulkheadError("invalid_config", "That is not the name of a secret: it has letters, digits and _ only.", {
    hint: "For example: bulkhead secret set API_KEY",
  });
}
