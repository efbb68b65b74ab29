import { fileManifest } from "../../open-host.ts";
import type { Command } from "commander";
import { type Bind, examples, type Invocation, tell, tellEach } from "../../command.ts";
import { pluginAdd } from "./plugin-add.ts";
import { pluginDisable, pluginEnable } from "./plugin-enable.ts";
import { pluginInfo } from "./plugin-info.ts";
import { pluginUpdate } from "./plugin-update.ts";
import { reloading } from "../../reloading.ts";
import { readOneMore, readPair } from "../../request-flags.ts";
import { forgetPlugin, removePlugin } from "../../../../packages/install/remove-plugin.ts";
import { stateFolder } from "../../installing.ts";
import { changeManifest } from "../../../../packages/install/manifest-transaction.ts";
import { removeGrant, takeBack } from "../../../../packages/manifest/edit-plugin-entry.ts";
import { parseGrant } from "../../parse-grant.ts";
import { searchRegistry } from "../../../../packages/install/search-registry.ts";
import { safeLine } from "../../render/agent-text.ts";
import { asTyped } from "../../render/as-typed.ts";
import type { Cell } from "../../render/table.ts";
import { tableText } from "../../show-session.ts";
import { whileWaiting } from "../../while-waiting.ts";

/** Defines the sub-commands of `bulkhead plugin` for installed plugins. */
export function defineInstalling(command: Command, bind: Bind): void {
  command.command("search")
    .description("search the registry for plugins")
    .argument("[words...]", "words of its name or description")
    .addHelpText(...examples(["bulkhead plugin search greeter", "in the registry that npm is configured for"]))
    .action(bind(pluginSearch));
  const add = command.command("add")
    .description("install a plugin, show what it asks for, and enable it")
    .argument(
      "[package]",
      "name, name@version, folder, tarball, or git+https://…#ref; default: what bulkhead.lock names",
    )
    .addHelpText(...examples(
      ["bulkhead plugin add bulkhead-greeter", "from the registry that npm is configured for"],
      ["bulkhead plugin add ./greeter-1.0.0.tgz --grant read:workdir", "unattended, with this grant alone"],
      ["bulkhead plugin add", "installs what bulkhead.lock names, on another machine"],
    ))
    .action(bind(reloading(pluginAdd)));
  const update = command.command("update")
    .description(
      "take the newest version into use, within what was asked for; one that asks for more waits for its grant",
    )
    .argument("[id]", "id of an installed plugin, or id@version; default: each")
    .addHelpText(...examples(["bulkhead plugin update greeter --grant net:api.example.com:443", "grants the new"]))
    .action(bind(reloading(pluginUpdate)));
  for (const one of [add, update]) installFlags(one);
  command.command("remove")
    .description("remove an installed plugin or an instance, its grants and what it has stored")
    .argument("<id>", "id of an installed plugin or of an instance")
    .addHelpText(...examples(["bulkhead plugin remove greeter", "nothing of it is left"]))
    .action(bind(reloading(pluginRemove)));
  command.command("info")
    .description("show where a plugin came from, who signed it, and what it asks for in plain words")
    .argument("<id>", "id of a plugin")
    .addHelpText(...examples(["bulkhead plugin info greeter --json", "for programs, with its manifest"]))
    .action(bind(pluginInfo));
  command.command("enable")
    .description("enable a plugin in bulkhead.yaml, or an instance of it with settings of its own")
    .argument("<id>", "id of a plugin")
    .option("--as <id>", "enable an instance of the plugin, under this id")
    .option("--option <key=value>", "set an option of the plugin; repeat", readPair)
    .option("--grant <permission:target>", "grant this, which it asks for; may be said several times", readOneMore)
    .addHelpText(...examples(
      ["bulkhead plugin enable greeter", "shows what it asks for, and asks"],
      ["bulkhead plugin enable greeter --grant write:workdir", "without a question, and with this grant alone"],
      ["bulkhead plugin enable greeter --as polite --option tone=formal", "one of several instances"],
    ))
    .action(bind(reloading(pluginEnable)));
  command.command("disable")
    .description("disable a plugin in bulkhead.yaml; its grants stay")
    .argument("<id>", "id of a plugin")
    .addHelpText(...examples(["bulkhead plugin disable greeter", "until it is enabled again"]))
    .action(bind(reloading(pluginDisable)));
  command.command("revoke")
    .description("take a grant, or a denial, out of bulkhead.yaml")
    .argument("<id>", "id of a plugin")
    .argument("<permission:target>", "as it was granted or denied")
    .addHelpText(...examples(["bulkhead plugin revoke greeter write:workdir", "for sessions from now on"]))
    .action(bind(reloading(pluginRevoke)));
}

function installFlags(command: Command): void {
  command
    .option("--grant <permission:target>", "grant this, which it asks for; may be said several times", readOneMore)
    .option("--yes", "grant all that it asks for, but what amounts to more than it seems: that has to be named")
    .option("--allow-downgrade", "take a version that is older than one that was in use")
    .option("--allow-deprecated", "take a version that its publisher says not to use")
    .option("--replace-source", "take a known id from another source, or from one that signs no more")
    .option("--allow-similar-id", "take an id that looks like another one");
}

async function pluginRemove(call: Invocation): Promise<number> {
  const manifest = await fileManifest(call);
  const id = call.args[0] ?? "";
  await removePlugin(manifest.file, id);
  await forgetPlugin(stateFolder(call, manifest), id);
  const text = `Removed: ${id}, its grants, and what it had stored.`;
  return await tell(call, { plugin_id: id, removed: true, file: manifest.file }, text);
}

async function pluginRevoke(call: Invocation): Promise<number> {
  const { file } = await fileManifest(call);
  const [pluginId = "", typed = ""] = call.args;
  const { permission, target } = parseGrant(typed);
  const old = { pluginId, permission, target };
  const { changed, words } = await changeManifest(file, async ({ text, writeText }) => {
    const after = takeBack(text, old, { file });
    if (after !== text) await writeText(after);
    const what = `${pluginId} may not ${permission} ${target}`;
    if (after === text) return { changed: false, words: `Nothing to revoke: ${what}` };
    const lifted = `Lifted: ${pluginId} is no longer denied ${permission} ${target}`;
    return { changed: true, words: removeGrant(text, old, { file }) === text ? lifted : `Revoked: ${what}` };
  });
  return await tell(call, { plugin_id: pluginId, permission, target, file, changed }, `${words} (${file}).`);
}

async function pluginSearch(call: Invocation): Promise<number> {
  const { terminal } = call;
  const words = call.args.flatMap((word) => word ?? []);
  const work = searchRegistry(words, { folder: terminal.cwd });
  const { registry, found } = await whileWaiting("Searching the registry …", { terminal, work });
  return await tellEach(call, found, () => {
    if (found.length === 0) {
      const asked = words.length === 0 ? "" : ` for ${safeLine(JSON.stringify(words.join(" ")))}`;
      return `${safeLine(registry)} has no plugin${asked}.\n${asTyped('Those that are here: "bulkhead plugin list".')}`;
    }
    const rows = found.map(({ name, version, publisher, description }): Cell[] => [
      { text: safeLine(name), tone: "bold" },
      safeLine(version),
      safeLine(publisher ?? ""),
      { text: safeLine(description), tone: "dim" },
    ]);
    const next = asTyped("Anyone may publish one. To see what one asks for, and decide: bulkhead plugin add <package>");
    return `${tableText(rows, { terminal, head: ["package", "version", "publisher", "in its own words"] })}\n\n${next}`;
  });
}
