import type { Command } from "commander";
import { type Bind, type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { defineWriting } from "./plugin/plugin-author.ts";
import { pluginExplain } from "./plugin/plugin-explain.ts";
import { pluginDeny, pluginGrant } from "./plugin/plugin-grant.ts";
import { defineInstalling } from "./plugin/plugin-install.ts";
import { pluginList } from "./plugin/plugin-list.ts";
import { reloading, reloadNote } from "../reloading.ts";
import { openHost } from "../open-host.ts";
import { pluginOf } from "../../../packages/registry/unknown-plugin.ts";

/** `bulkhead plugin …`: commands for operators and authors of plugins. */
export const definePlugin: DefineCommand = (command, bind) => {
  command.usage("<command> [flags]").addHelpText(...examples(
    ["bulkhead plugin add bulkhead-greeter", "install one, and see what it asks for"],
    ["bulkhead plugin list", "what was found, and whether it is enabled"],
    ["bulkhead plugin check ./my-plugin", "is the package whole, does it load"],
    ["bulkhead plugin explain my-agent", "what it may do, and why"],
    ["bulkhead plugin grant my-agent net:api.example.com:443", "let it do more"],
  ));
  defineInstalling(command, bind);
  defineWriting(command, bind);
  definePermissions(command, bind);
  command.command("list")
    .description("list every plugin that was found")
    .addHelpText(...examples(["bulkhead plugin list --json", "one plugin a line"]))
    .action(bind(pluginList));
  command.command("release")
    .description("lift a plugin's quarantine and forget its crashes")
    .argument("<id>", "id of a plugin")
    .addHelpText(...examples(["bulkhead plugin release my-agent", "lets it run again after it crashed too often"]))
    .action(bind(pluginRelease));
  command.commandsGroup("More:").helpCommand("help [command]", "show the usage of a command");
  for (const one of command.commands) {
    one.helpGroup(authors.has(one.name()) ? "Write plugins:" : "Use plugins:");
    if (changing.has(one.name())) one.addHelpText("after", reloadNote);
  }
};

/** Defines the sub-commands that show and change what a plugin may do. */
function definePermissions(command: Command, bind: Bind): void {
  command.command("explain")
    .description("show what a plugin asks for, what is granted, and what is in force")
    .argument("<id>", "id of a plugin")
    .addHelpText(...examples(["bulkhead plugin explain replay", "a row for each permission"]))
    .action(bind(pluginExplain));
  command.command("grant")
    .description("add a grant to bulkhead.yaml")
    .argument("<id>", "id of a plugin")
    .argument("<permission:target...>", "such as run:git, read:workdir, net:example.com:443, env:LANG, or kv")
    .addHelpText(...examples(
      ["bulkhead plugin grant replay write:workdir", "lets it write in the working directory"],
      ["bulkhead plugin grant replay read:plugin read:workdir", "several at once"],
    ))
    .action(bind(reloading(pluginGrant)));
  command.command("deny")
    .description("add a denial to bulkhead.yaml: it wins over every grant")
    .argument("<id>", "id of a plugin")
    .argument("<permission:target...>", "as for grant")
    .addHelpText(...examples(["bulkhead plugin deny my-agent net:example.com:443", "never this host"]))
    .action(bind(reloading(pluginDeny)));
}

/** Commands for authors. */
const authors: ReadonlySet<string> = new Set(["new", "dev", "check", "test", "pack", "import"]);

/** Commands that change the host manifest. */
const changing: ReadonlySet<string> = new Set([
  "add",
  "update",
  "remove",
  "enable",
  "disable",
  "grant",
  "deny",
  "revoke",
]);

async function pluginRelease(call: Invocation): Promise<number> {
  await using opened = await openHost(call);
  const id = call.args[0] ?? "";
  const released = await opened.host.release(id);
  // A record may outlive its plugin; a name that is neither is a typing error.
  if (!released) pluginOf(opened.host.registry, id);
  const text = released ? `Released: ${id} may run again.` : `Nothing to release: ${id} has no crashes on record.`;
  return await tell(call, { plugin_id: id, released }, text);
}
