import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { serveDoor } from "../serve-door.ts";

/** `bulkhead mcp`. */
export const defineMcp: DefineCommand = (command, bind) => {
  command
    .addHelpText(...examples(
      ["bulkhead mcp", "the command of a server in an MCP client's settings"],
      ["bulkhead mcp --config ~/work/bulkhead.yaml", "with the agents of that file"],
    ))
    .action(bind(mcp));
};

async function mcp(call: Invocation): Promise<number> {
  return await serveDoor(call, {
    protocol: "Model Context Protocol",
    async serve(deps) {
      const { serveMcp } = await import("../../mcp/serve-mcp.ts");
      await serveMcp(deps);
    },
  });
}
