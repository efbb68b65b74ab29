import { type DefineCommand, examples } from "../command.ts";
import { pluginCheck } from "./plugin-check.ts";
import { pluginExplain } from "./plugin-explain.ts";
import { pluginGrant } from "./plugin-grant.ts";
import { defineInstalling } from "./plugin-install.ts";
import { pluginList } from "./plugin-list.ts";
import { pluginRelease } from "./plugin-release.ts";

/** `bulkhead plugin add|update|remove|list|info|enable|disable|check|explain|grant|revoke|release`. */
export const definePlugin: DefineCommand = (command, bind) => {
  command.usage("<command> [flags]").addHelpText(
    "after",
    examples(
      ["bulkhead plugin add bulkhead-greeter", "install one, and see what it asks for"],
      ["bulkhead plugin list", "what was found, and whether it is enabled"],
      ["bulkhead plugin check ./my-plugin", "is the package whole, does it load"],
      ["bulkhead plugin explain my-agent", "what it may do, and why"],
      ["bulkhead plugin grant my-agent net:api.example.com:443", "let it do more"],
    ),
  );
  defineInstalling(command, bind);
  command.command("list")
    .description("list every plugin that was found")
    .addHelpText("after", examples(["bulkhead plugin list --json", "one plugin a line"]))
    .action(bind(pluginList));
  command.command("check")
    .description("check a plugin: manifest, bundle, and loading it behind the walls")
    .argument("[plugin]", "folder of a package, or id; default: every enabled plugin")
    .addHelpText("after", examples(["bulkhead plugin check ./my-plugin", "while you write it"]))
    .action(bind(pluginCheck));
  command.command("explain")
    .description("show what a plugin asks for, what is granted, and what it comes to")
    .argument("<id>", "id of a plugin")
    .addHelpText("after", examples(["bulkhead plugin explain replay", "a row for each permission"]))
    .action(bind(pluginExplain));
  command.command("grant")
    .description("add a grant to bulkhead.yaml")
    .argument("<id>", "id of a plugin")
    .argument("<permission:target>", "such as run:git, read:workdir, net:example.com:443, env:LANG, or kv")
    .addHelpText(
      "after",
      examples(["bulkhead plugin grant replay write:workdir", "lets it write in the working directory"]),
    )
    .action(bind(pluginGrant));
  command.command("release")
    .description("lift a plugin's quarantine and forget its crashes")
    .argument("<id>", "id of a plugin")
    .addHelpText(
      "after",
      examples(["bulkhead plugin release my-agent", "lets it run again after it crashed too often"]),
    )
    .action(bind(pluginRelease));
};
