import { acceptChange } from "../../../ground/recorded/accept-change.ts";
import { changeAt } from "../../../ground/recorded/demand-recorded.ts";
import { resolve } from "../../../ground/platform/files/paths.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { reloading, reloadNote } from "../reloading.ts";
import { safeLine } from "../render/agent-text.ts";

/** `bulkhead accept <path>`. */
export const defineAccept: DefineCommand = (command, bind) => {
  command
    .argument("<path>", "bulkhead.yaml, bulkhead.lock, .npmrc, a plugin's folder, or a file with a secret")
    .option("--digest <digest>", "accept exactly this content, as an error named it, without asking")
    .addHelpText("after", reloadNote)
    .addHelpText(...examples(
      ["bulkhead accept bulkhead.yaml", "see what changed while an agent could write it, and decide"],
      ["bulkhead accept plugins/deploy --digest sha256:4f0c…", "what an error named, and nothing newer"],
    ))
    .action(bind(reloading(accept)));
};

async function accept(call: Invocation): Promise<number> {
  const { terminal, args: [named = ""], options: { digest } } = call;
  const path = resolve(terminal.cwd, named);
  const change = await changeAt(path);
  // At a terminal the person is asked, and the command comes back when nothing is left to accept.
  if (change !== null && typeof digest !== "string") throw change;
  if (change !== null) await acceptChange(path, digest as string);
  const words = change === null ? "Nothing to accept" : "Accepted";
  return await tell(call, { path, accepted: change !== null }, `${words}: ${safeLine(path)}`);
}
