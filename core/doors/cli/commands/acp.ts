import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { serveDoor } from "../serve-door.ts";
import type { Command } from "commander";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import { loadManifest } from "../open-host.ts";
import { type RequestField, requestFlags } from "../request-flags.ts";
import { buildRequest } from "../session-request.ts";

/** `bulkhead acp`. */
export const defineAcp: DefineCommand = (command, bind) => {
  addDefaultFlags(command)
    .option("-a, --agent <id>", 'the adapter of a new conversation; default: "auto"')
    .option("--setup", "set up agents in this terminal, as `bulkhead setup` does: editors run this to log in")
    .addHelpText(...examples(
      ["bulkhead acp", "the command of an agent server in an editor's settings"],
      ["bulkhead acp --agent my-agent --approval reads", "begin with one adapter, and ask for all but reading"],
    ))
    .action(bind(acp));
};

async function acp(call: Invocation): Promise<number> {
  const { agent, setup: isSetup } = call.options;
  if (isSetup === true) {
    const { setup } = await import("./setup.ts");
    return await setup({ ...call, options: {} });
  }
  const defaults = readDefaults(call.options);
  return await serveDoor(call, {
    protocol: "Agent Client Protocol",
    async serve(deps) {
      const { serveAcp } = await import("../../acp/serve-acp.ts");
      await serveAcp({
        ...deps,
        defaults,
        mode: agent as string | undefined,
        mcpServers: async () => (await loadManifest(call))?.mcp_servers ?? {},
        setupArgs: ["--setup"],
      });
    },
  });
}

/** Fields that belong to one session and make no sense for all sessions of a door. */
const ofOneSession: readonly RequestField[] = [
  "workdir",
  "prompt",
  "content.image",
  "content.file",
  "continue_from",
  "fork.at",
  "iteration",
  "max_iterations",
  "task_id",
  "idempotency_key",
  "traceparent",
];

const flags = requestFlags.filter(({ field }) => !ofOneSession.includes(field));

/** Adds the flags that set fields of every session's request. */
function addDefaultFlags(command: Command): Command {
  for (const { option } of flags) command.addOption(option());
  return command;
}

/**
 * Reads the fields that the flags set for every session.
 * @throws {BulkheadError} `invalid_request` naming the field that does not fit
 */
function readDefaults(options: Readonly<Record<string, unknown>>): Partial<SessionRequest> {
  const { workdir: _workdir, prompt: _prompt, ...defaults } = buildRequest({
    options,
    prompt: "",
    cwd: "/",
    config: undefined,
  });
  return defaults;
}
