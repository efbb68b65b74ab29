import { type DefineCommand, examples } from "../command.ts";
import { tokenCreate } from "./token-create.ts";
import { tokenList } from "./token-list.ts";
import { tokenRevoke } from "./token-revoke.ts";

/** `bulkhead token create|list|revoke`. */
export const defineToken: DefineCommand = (command, bind) => {
  command.usage("<create|list|revoke> [flags]").addHelpText(
    "after",
    examples(
      ["bulkhead token create ci --scope run --expires 30d", "it is printed once; its sessions are all it sees"],
      ["bulkhead token list", "names, scopes and ends, never a token"],
      ["bulkhead token revoke ci", "it opens nothing from now on, also for a host that runs"],
    ),
  );
  command.command("create")
    .description("make a token for the HTTP API and print it, once")
    .argument("<name>", "letters, digits, _, . and -")
    .option(
      "--scope <scopes...>",
      "read: see everything; run: start sessions and handle its own; admin: all (default: read run)",
    )
    .option("--workdir <folders...>", "folders that its sessions may be started in, and below (default: any)")
    .option("--expires <time>", "how long it holds, such as 90m, 12h or 30d (default: never expires)")
    .addHelpText(
      "after",
      examples(
        ["bulkhead token create dashboard --scope read", "may look, and nothing else"],
        ["bulkhead token create ci --scope run --workdir ./checkout", "its sessions are started in it, or below"],
      ),
    )
    .action(bind(tokenCreate));
  command.command("list")
    .description("list tokens, without their secret part")
    .addHelpText("after", examples(["bulkhead token list --json", "one token a line"]))
    .action(bind(tokenList));
  command.command("revoke")
    .description("make a token worthless")
    .argument("<name>", "its name or id")
    .addHelpText("after", examples(["bulkhead token revoke ci", "its open streams end as well"]))
    .action(bind(tokenRevoke));
};
