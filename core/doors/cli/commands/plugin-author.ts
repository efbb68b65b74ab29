import { type Command, Option } from "commander";
import { templateNames } from "../../../kit/author/templates.ts";
import { type Bind, examples } from "../command.ts";
import { pluginCheck } from "./plugin-check.ts";
import { pluginDev } from "./plugin-dev.ts";
import { pluginImport } from "./plugin-import.ts";
import { pluginNew } from "./plugin-new.ts";
import { pluginPack } from "./plugin-pack.ts";
import { pluginTest } from "./plugin-test.ts";

/** Defines the sub-commands of `bulkhead plugin` for authors. */
export function defineWriting(command: Command, bind: Bind): void {
  defineTrying(command, bind);
  command.command("new")
    .description("create a working plugin to start from")
    .argument("<name>", "the name people read; its id is made from it")
    .addOption(new Option("--template <kind>", "what it will drive; default: code").choices([...templateNames]))
    .option("--command <line>", "for cli and acp: the program with its arguments; default: the id")
    .option("--folder <folder>", "where it is written; default: its id, here")
    .option("-y, --yes", "ask nothing")
    .addHelpText(
      "after",
      examples(
        ["bulkhead plugin new my-agent", "asks what it will drive"],
        ['bulkhead plugin new my-tool --template cli --command "my-tool --quiet"', "a program, without code"],
      ),
    )
    .action(bind(pluginNew));
  command.command("pack")
    .description("make the package of a plugin: a tarball that npm publishes and any host takes")
    .argument("[folder]", "folder of the plugin; default: this one")
    .option("--out <folder>", "where the tarball is written; default: this folder")
    .option("--unpacked <folder>", "also lay the package out here, as JSR publishes it")
    .addHelpText("after", examples(["bulkhead plugin pack ./my-plugin", "the same folder gives the same bytes"]))
    .action(bind(pluginPack));
  command.command("import")
    .description("make plugins of entries of the Agent Client Protocol's registry, or of a map of tools")
    .argument("<file>", "agent.json, registry.json, or YAML with tools: <name>: {binary, command_template, ...}")
    .option("--into <folder>", "where each becomes a folder; default: here")
    .option("--only <id>", "the one entry that is wanted of several")
    .option("--id <id>", "the plugin's id, where that of the entry is taken")
    .option("--command <program>", "the agent's program, where it is another one")
    .option("--offline", "ask no registry which program an npm package installs")
    .addHelpText(
      "after",
      examples(
        ["bulkhead plugin import tools.yaml --into plugins", "a plugin for each tool"],
        ["bulkhead plugin import registry.json --only kimi --into plugins", "one agent of the registry"],
        ["bulkhead plugin import agent.json --id my-agent --command agent", "under an id and a program of your own"],
      ),
    )
    .action(bind(pluginImport));
}

/** Defines those that tell an author whether a plugin works. */
function defineTrying(command: Command, bind: Bind): void {
  command.command("check")
    .description("check a plugin: manifest, bundle, and loading it behind the walls")
    .argument("[plugin]", "folder of a package, or id; default: every enabled plugin")
    .addHelpText("after", examples(["bulkhead plugin check ./my-plugin", "while you write it"]))
    .action(bind(pluginCheck));
  command.command("dev")
    .description("run a session of a plugin, live, and again after each change of its folder")
    .argument("[folder]", "folder of the plugin; default: this one")
    .argument("[prompt]", "the prompt; default: Say hello.")
    .option("--once", "run one session and end with its exit code")
    .addHelpText("after", examples(['bulkhead plugin dev ./my-plugin "Say hello"', "while you write it"]))
    .action(bind(pluginDev));
  command.command("test")
    .description("try a plugin against every rule of the contract, with scripted tools and without a network")
    .argument("[folder]", "folder of the plugin; default: this one")
    .option("--all", "show also the rules that it keeps and those that do not concern it")
    .option("--record <session>", "first run one real session with all that the manifest asks for, and record it")
    .option("--prompt <text>", "of the session to record; default: its prompt in conformance.yaml, or Say hello.")
    .addHelpText(
      "after",
      examples(
        ["bulkhead plugin test ./my-plugin", "what conformance.yaml scripts, and how it did"],
        ['bulkhead plugin test ./my-plugin --record writes --prompt "Create hello.txt"', "writes recordings/"],
      ),
    )
    .action(bind(pluginTest));
}
