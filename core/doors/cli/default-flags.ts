import { type Command, Option } from "commander";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { type RequestField, requestFlags } from "./request-flags.ts";
import { buildRequest } from "./session-request.ts";

/** Fields that belong to one session and make no sense for all sessions of a door. */
const ofOneSession: readonly RequestField[] = [
  "workdir",
  "prompt",
  "continue_from",
  "iteration",
  "max_iterations",
  "task_id",
  "idempotency_key",
];

const flags = requestFlags.filter(({ field }) => !ofOneSession.includes(field));

/** Adds the flags that set fields of every session's request. */
export function addDefaultFlags(command: Command): Command {
  for (const flag of flags) {
    const option = new Option(flag.flags, flag.description);
    if (flag.read !== undefined) option.argParser(flag.read);
    if (flag.choices !== undefined) option.choices(flag.choices);
    command.addOption(option);
  }
  return command;
}

/**
 * Reads the fields that the flags set for every session.
 * @throws {BulkheadError} `invalid_request` naming the field that does not fit
 */
export function readDefaults(options: Readonly<Record<string, unknown>>): Partial<SessionRequest> {
  const { workdir: _workdir, prompt: _prompt, ...defaults } = buildRequest({
    options,
    prompt: "",
    cwd: "/",
    config: undefined,
  });
  return defaults;
}
