import { writeFiles } from "../../../../ground/platform/files/write-new-file.ts";
import { type Command, Option } from "commander";
import { type TemplateName, templateNames, templateUses } from "../../../../kit/author/templates.ts";
import { type Bind, examples, type Invocation, tell } from "../../command.ts";
import { driftError, pluginCheck } from "./plugin-check.ts";
import { pluginDev } from "./plugin-dev.ts";
import { pluginTest } from "./plugin-test.ts";
import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import { quoteWord } from "../../../../ground/config/grant-command.ts";
import { idOf, newPlugin } from "../../../../kit/author/new-plugin.ts";
import { dirname, join, resolve, shownPath } from "../../../../ground/platform/files/paths.ts";
import { Questions } from "../../questions.ts";
import { asTyped } from "../../render/as-typed.ts";
import { fitHelp } from "../../render/text-width.ts";
import { tableColumns } from "../../show-session.ts";
import type { ImportReport } from "../../../../kit/author/import-plugin.ts";
import { errorTable } from "../../../../ground/errors/error-table.ts";
import { stopBundler } from "../../../../packages/bundler/make-bundle.ts";
import { loadManifest } from "../../open-host.ts";
import { safeLine } from "../../render/agent-text.ts";
import { mkdir, writeFile } from "../../../../ground/platform/files/files.ts";
import { formatBytes } from "../../render/quantities.ts";

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
    .addHelpText(...examples(
      ["bulkhead plugin new my-agent", "asks what it will drive"],
      ['bulkhead plugin new my-tool --template cli --command "my-tool --quiet"', "a program, without code"],
    ))
    .action(bind(pluginNew));
  command.command("pack")
    .description("make the package of a plugin: a tarball that npm publishes and any host takes")
    .argument("[folder]", "folder of the plugin; default: this one")
    .option("--out <folder>", "where the tarball is written; default: this folder")
    .option("--unpacked <folder>", "also lay the package out here, as JSR publishes it")
    .addHelpText(...examples(["bulkhead plugin pack ./my-plugin", "the same folder gives the same bytes"]))
    .action(bind(pluginPack));
  command.command("import")
    .description("make plugins of entries of the Agent Client Protocol's registry, or of a map of tools")
    .argument("<file>", "agent.json, registry.json, or YAML with tools: <name>: {binary, command_template, ...}")
    .option("--into <folder>", "where each becomes a folder; default: here")
    .option("--only <id>", "the one entry that is wanted of several")
    .option("--id <id>", "the plugin's id, where that of the entry is taken")
    .option("--command <program>", "the agent's program, where it is another one")
    .option("--offline", "ask no registry which program an npm package installs")
    .addHelpText(...examples(
      ["bulkhead plugin import tools.yaml --into plugins", "a plugin for each tool"],
      ["bulkhead plugin import registry.json --only kimi --into plugins", "one agent of the registry"],
      ["bulkhead plugin import agent.json --id my-agent --command agent", "under an id and a program of your own"],
    ))
    .action(bind(pluginImport));
}

/** Defines those that tell an author whether a plugin works. */
function defineTrying(command: Command, bind: Bind): void {
  command.command("check")
    .description("check a plugin: manifest, bundle, and loading it behind the walls")
    .argument("[plugin]", "folder of a package, or id; default: every enabled plugin")
    .addHelpText(...examples(["bulkhead plugin check ./my-plugin", "while you write it"]))
    .action(bind(pluginCheck));
  command.command("dev")
    .description("run a session of a plugin, live, and again after each change of its folder")
    .argument("[folder]", "folder of the plugin; default: this one")
    .argument("[prompt]", "the prompt; default: Say hello.")
    .option("--once", "run one session and end with its exit code")
    .addHelpText(...examples(['bulkhead plugin dev ./my-plugin "Say hello"', "while you write it"]))
    .action(bind(pluginDev));
  command.command("test")
    .description("try a plugin against every rule of the contract, with scripted tools and without a network")
    .argument("[folder]", "folder of the plugin; default: this one")
    .option("--all", "show also the rules that it keeps and those that do not concern it")
    .option("--record <session>", "first run one real session with all that the manifest asks for, and record it")
    .option("--prompt <text>", "of the session to record; default: its prompt in conformance.yaml, or Say hello.")
    .option(
      "--wire <folder>",
      "also run the real program, with its calls answered from this record of run --record-wire",
    )
    .addHelpText(...examples(
      ["bulkhead plugin test ./my-plugin", "what conformance.yaml scripts, and how it did"],
      ['bulkhead plugin test ./my-plugin --record writes --prompt "Create hello.txt"', "writes recordings/"],
    ))
    .action(bind(pluginTest));
}

/** `bulkhead plugin new <name>`. Asks for missing flags where the terminal can ask. */
async function pluginNew(call: Invocation): Promise<number> {
  const { terminal, args, options, json } = call;
  const asks = Questions.possible(terminal) && options["yes"] !== true && !json;
  const questions = asks ? new Questions(terminal) : null;
  const name = args[0] ?? "";
  const id = idOf(name);
  const template = await templateOf(options["template"], questions);
  const command = await commandOf(options["command"], { template, id, questions });
  const given = options["folder"];
  const folder = typeof given === "string" ? resolve(terminal.cwd, given) : join(terminal.cwd, id);
  const written = await newPlugin({ folder, template, name, command });
  const named = quoteWord(String(given ?? id));
  const lines = [
    `Wrote the plugin ${written.id} to ${written.folder}`,
    ...written.files.map((file) => `  ${file}`),
    asTyped(fitHelp(nextText(named), tableColumns(terminal))),
    ...needs[template],
  ];
  return await tell(call, { template, ...written }, lines.join("\n"));
}

function nextText(folder: string): string {
  const dev = `bulkhead plugin dev ${folder} "Say hello."`;
  const test = `bulkhead plugin test ${folder}`.padEnd(dev.length);
  return `Next:\n  ${test}  every rule of the contract, offline\n  ${dev}  a session, and again after each change`;
}

/** Things that a first session needs and that are still missing; the test scripts them all. */
const needs: { readonly [N in TemplateName]: readonly string[] } = {
  code: [],
  wrap: ["It asks a service at http://localhost:8080 for now: put yours into service.ts and plugin.yaml."],
  cli: ["A session starts the program itself, so that has to be installed; the test does without."],
  acp: ["A session starts the agent itself, so that has to be installed; the test does without."],
};

async function templateOf(given: unknown, questions: Questions | null): Promise<TemplateName> {
  const named = templateNames.find((name) => name === given);
  if (named !== undefined || questions === null) return named ?? "code";
  const uses = templateNames.map((name) => `  ${name.padEnd(5)} ${templateUses[name]}`).join("\n");
  const choices = templateNames.map((name) => ({ word: name, value: name }));
  // Two of the choices begin with the same letter; that letter means the first of them.
  return orInterrupted(await questions.choose(`What will it drive?\n${uses}`, { choices }));
}

async function commandOf(
  given: unknown,
  { template, id, questions }: { template: TemplateName; id: string; questions: Questions | null },
): Promise<string | undefined> {
  if (typeof given === "string") return given;
  if (questions === null || (template !== "cli" && template !== "acp")) return undefined;
  const typed = orInterrupted(await questions.text(`Which program runs it, with its arguments? Empty: ${id}`));
  return typed.trim() === "" ? undefined : typed.trim();
}

function orInterrupted<T>(answer: T | null): T {
  if (answer !== null) return answer;
  throw new BulkheadError("interrupted", "The question was not answered, so no plugin was written.");
}

async function pluginImport(call: Invocation): Promise<number> {
  const { importPlugins } = await import("../../../../kit/author/import-plugin.ts");
  const { terminal, args, options, json } = call;
  const text = (name: string) => (typeof options[name] === "string" ? options[name] : undefined);
  const manifest = await loadManifest(call);
  const report = await importPlugins(resolve(terminal.cwd, args[0] ?? ""), {
    into: resolve(terminal.cwd, text("into") ?? "."),
    root: manifest?.file === undefined ? terminal.cwd : dirname(manifest.file),
    tools: Object.keys(manifest?.tools ?? {}),
    id: text("id"),
    only: text("only"),
    command: text("command"),
    offline: options["offline"] === true,
  }).finally(stopBundler);
  await terminal.stdout.write(json ? jsonLines(report) : lines(report));
  return exitCodeOf(report);
}

/** Entries of a registry whose id is taken, or that are for other machines, are no failure of the whole. */
function exitCodeOf({ refused }: ImportReport): number {
  const failed = refused.find(({ error }) => error.code !== "already_exists" && error.code !== "unsupported");
  return failed === undefined ? 0 : errorTable[failed.error.code].exit_code;
}

function jsonLines({ written, refused }: ImportReport): string {
  return [...written, ...refused].map((one) => `${JSON.stringify(one)}\n`).join("");
}

function lines(report: ImportReport): string {
  const { written, refused, notes } = report;
  const many = written.length + refused.length > 1;
  const wrote = written.flatMap(({ id, folder, notes: own }) => [
    `Wrote the plugin ${id} to ${folder}`,
    ...own.map((note) => `  ${safeLine(note)}`),
    ...(many ? [] : [asTyped(`  Next: "bulkhead plugin check ${folder}"`)]),
  ]);
  const left = refused.flatMap(({ id, error }) => [
    `Left out ${safeLine(id)}: ${safeLine(error.message)}`,
    ...(error.hint === undefined ? [] : [`  ${safeLine(asTyped(error.hint))}`]),
  ]);
  return [...wrote, ...left, ...notes.map(safeLine), ...(many ? [summary(report)] : [])].map((one) => `${one}\n`).join(
    "",
  );
}

function summary({ written, refused }: ImportReport): string {
  const all = written.length + refused.length;
  const others = refused.length === 0 ? "" : " To import one that was left out: --only <id>.";
  return asTyped(`Imported ${written.length} of ${all}.${others} Next: "bulkhead plugin check <folder>"`);
}

async function pluginPack(call: Invocation): Promise<number> {
  const { terminal, args, options } = call;
  const folder = resolve(terminal.cwd, args[0] ?? ".");
  const { packPlugin } = await import("../../../../kit/author/pack-plugin.ts");
  await refuseDrift(call, folder);
  const packed = await packPlugin(folder).finally(stopBundler);
  const { manifest, fileName, tarball, sha256, files, leftOut, notForJsr } = packed;
  const out = resolve(terminal.cwd, typeof options["out"] === "string" ? options["out"] : ".");
  const file = join(out, fileName);
  await mkdir(out, { recursive: true });
  await writeFile(file, tarball);
  if (typeof options["unpacked"] === "string") {
    const unpacked = new Map(files.map(({ path, bytes }) => [path, bytes]));
    await writeFiles(resolve(terminal.cwd, options["unpacked"]), unpacked);
  }
  const rows = files.map(({ path, bytes }) => ({ path, bytes: bytes.length }));
  const report = {
    plugin_id: manifest.id,
    name: packed.name,
    version: manifest.version,
    file,
    sha256,
    files: rows,
    left_out: leftOut,
    not_for_jsr: notForJsr,
  };
  const shown = shownPath(terminal.cwd, file);
  const lines = [
    `Packed ${manifest.id} ${manifest.version} to ${file}`,
    ...rows.map(({ path, bytes }) => `  ${path.padEnd(24)} ${formatBytes(bytes)}`),
    ...leftOut.map((path) => `  left out: ${path}, which holds secrets`),
    `  sha256 ${sha256}`,
    "Next, one of:",
    asTyped(`  bulkhead plugin add ${quoteWord(shown)}`),
    `  npm publish ${quoteWord(shown)}`,
    ...(typeof options["unpacked"] === "string" ? jsrLines(quoteWord(options["unpacked"]), notForJsr) : []),
  ];
  return await tell(call, report, lines.join("\n"));
}

/** JSR writes a `package.json` of its own, which the hashes of the package do not allow. */
function jsrLines(folder: string, notForJsr: string | null): string[] {
  if (notForJsr !== null) return [`Not for JSR: ${notForJsr}`];
  return [
    `  (cd ${folder} && deno publish)`,
    "From JSR programs can import it. Hosts install plugins from npm registries, tarballs, folders and git alone.",
  ];
}

/** Loads the plugin behind its walls: those who install a package must get what its manifest says. */
async function refuseDrift({ createHost }: Invocation, folder: string): Promise<void> {
  const host = await createHost({ root: folder, stateDir: null, bundledDir: null });
  try {
    const { id } = await host.registry.register(folder);
    const { drift } = await host.load(id);
    if (drift.length > 0) throw driftError(drift);
  } finally {
    await host.close();
  }
}
