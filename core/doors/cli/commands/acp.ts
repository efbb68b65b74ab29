import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { addDefaultFlags, readDefaults } from "../default-flags.ts";
import { serveDoor } from "../serve-door.ts";

/** `bulkhead acp`. */
export const defineAcp: DefineCommand = (command, bind) => {
  addDefaultFlags(command)
    .option("-a, --agent <id>", 'the adapter of a new conversation; default: "auto"')
    .addHelpText(
      "after",
      examples(
        ["bulkhead acp", "the command of an agent server in an editor's settings"],
        ["bulkhead acp --agent my-agent --approval reads", "begin with one adapter, and ask for all but reading"],
      ),
    )
    .action(bind(acp));
};

async function acp(call: Invocation): Promise<number> {
  const { agent } = call.options;
  const defaults = readDefaults(call.options);
  return await serveDoor(call, {
    protocol: "Agent Client Protocol",
    async serve(deps) {
      const { serveAcp } = await import("../../acp/serve-acp.ts");
      await serveAcp({ ...deps, defaults, mode: agent as string | undefined });
    },
  });
}
