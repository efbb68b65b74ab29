import { type DefineCommand, examples } from "../command.ts";
import { secretList } from "./secret-list.ts";
import { secretRemove } from "./secret-remove.ts";
import { secretSet } from "./secret-set.ts";

/** `bulkhead secret set|list|rm`. */
export const defineSecret: DefineCommand = (command, bind) => {
  command.usage("<set|list|rm> [flags]").addHelpText(
    "after",
    examples(
      ["bulkhead secret set API_KEY", "type the value; it is not shown"],
      ["pass show api | bulkhead secret set API_KEY", "or pipe it in; it never stands in an argument"],
      ["bulkhead secret list", "names, where each is, and who may use it"],
      ["bulkhead secret rm API_KEY", "forget it"],
    ),
  );
  command.command("set")
    .description("keep a secret and replace one of that name; the value is typed hidden or piped in")
    .argument("<name>", "letters, digits and _")
    .addHelpText("after", examples(["bulkhead secret set API_KEY < key.txt", "one line end at the end is left out"]))
    .action(bind(secretSet));
  command.command("list")
    .description("list secrets, where each is and which plugins may use it, never a value")
    .addHelpText("after", examples(["bulkhead secret list --json", "one secret a line"]))
    .action(bind(secretList));
  command.command("rm")
    .description("remove a stored secret")
    .argument("<name>", "name of a stored secret")
    .addHelpText("after", examples(["bulkhead secret rm API_KEY", "plugins that use it fail from now on"]))
    .action(bind(secretRemove));
};
