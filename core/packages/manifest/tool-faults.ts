import { checkMappingRules, type RuleFaultDetails } from "../../../plugin-sdk/check-mapping-rules.ts";
import {
  exposedPromptNote,
  exposesPrompt,
  parseArguments,
  parseCommandTemplate,
  templatePlaceholders,
} from "../../../plugin-sdk/command-template.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { AcceptedField, CliTool, Manifest, TalkAbility } from "../../../plugin-sdk/manifest.ts";
import { toolModels } from "../../../plugin-sdk/tool-models.ts";
import { lineProblem } from "../../ground/config/line-problem.ts";
import { isBinary, isName } from "../../ground/config/permission-problems.ts";
import { describeFound, didYouMean, type KeyPath } from "../../ground/config/yaml-problems.ts";

/** Something wrong at a path of a manifest. */
export interface ManifestFault {
  path: KeyPath;
  of?: "value" | "key" | undefined;
  expected: string;
  found: string;
  /** Words for it instead of expected and found. */
  says?: string | undefined;
  hint?: string | undefined;
}

/** Finds faults of a manifest's `cli` that a schema cannot express. */
export function* toolFaults(
  { cli, config, accepts = [] }: Pick<Manifest, "cli" | "config" | "accepts">,
): Generator<ManifestFault> {
  if (!cli) return;
  const faults = [...templateFaults(cli, Object.keys(config?.properties ?? {}))];
  yield* faults;
  if (faults.length === 0) yield* acceptFaults(cli, accepts);
  yield* ruleFaults(cli);
  yield* binaryFaults(cli);
  yield* modelFaults(cli);
  yield* variableFaults(cli);
  yield* exitCodeFaults(cli);
}

function* templateFaults(cli: CliTool, params: readonly string[]): Generator<ManifestFault> {
  const lines: [string[], () => unknown][] = [
    [["cli", "command_template"], () => parseCommandTemplate(cli.command_template, { params })],
    [["cli", "version", "args"], () => parseArguments(cli.version?.args ?? "")],
    [["cli", "auth", "args"], () => parseArguments(cli.auth?.args ?? "")],
  ];
  for (const [path, parse] of lines) {
    try {
      parse();
    } catch (error) {
      if (!(error instanceof BulkheadError)) throw error;
      yield {
        path,
        expected: path[1] === "command_template" ? "a command template" : "a line of arguments",
        found: `what cannot be used (${error.message})`,
        hint: error.hint,
        ...lineProblem(error, [...templatePlaceholders, ...params.map((name) => `params.${name}`)]),
      };
    }
  }
}

/** Finds the first rule that cannot be used, and what is wrong in it. */
function* ruleFaults({ output }: CliTool): Generator<ManifestFault> {
  if (output?.format !== "jsonl") return;
  try {
    checkMappingRules(output.rules);
  } catch (error) {
    if (!(error instanceof BulkheadError)) throw error;
    const { rule, why, at, of, unknown } = error.details as unknown as RuleFaultDetails;
    const hint = (unknown && didYouMean(unknown.word, unknown.known)) ?? error.hint;
    yield {
      path: ["cli", "output", "rules", rule, ...at],
      of,
      expected: "a rule that makes an event",
      found: "one that cannot be used",
      says: why,
      hint,
    };
  }
}

/** A client counts on what a manifest accepts, and only a placeholder of the template can hand it on. */
function* acceptFaults(cli: CliTool, accepts: readonly (AcceptedField | TalkAbility)[]): Generator<ManifestFault> {
  const { placeholders } = parseCommandTemplate(cli.command_template);
  for (const [index, field] of accepts.entries()) {
    // MCP servers have no placeholder; a model may be one of the manifest's.
    if (field === "mcp_servers" || field === "model" || placeholders.includes(field)) continue;
    yield {
      path: ["accepts", index],
      expected: `a field that the command template hands on, in brackets such as [--option {${field}}]`,
      found: describeFound(field),
    };
  }
}

function* binaryFaults({ binary: given }: CliTool): Generator<ManifestFault> {
  const binaries = typeof given === "string" ? { "": given } : given;
  for (const [system, binary] of Object.entries(binaries)) {
    const path = ["cli", "binary", ...(system === "" ? [] : [system])];
    if (!isBinary(binary)) {
      yield { path, expected: "a name, an absolute path, or ./path inside the plugin", found: describeFound(binary) };
    }
    if (system === "" || ["linux", "darwin", "win32", "default"].includes(system)) continue;
    yield { path, of: "key", expected: "linux, darwin, win32 or default", found: describeFound(system) };
  }
}

function* modelFaults(cli: CliTool): Generator<ManifestFault> {
  const { default_model } = cli;
  const models = Object.keys(toolModels(cli) ?? {});
  if (default_model === undefined || models.includes(default_model)) return;
  const expected = models.length > 0 ? `one of the models ${models.join(", ")}` : "models beside it";
  const hint = didYouMean(default_model, models);
  yield { path: ["cli", "default_model"], expected, found: describeFound(default_model), hint };
}

function* variableFaults({ env_vars }: CliTool): Generator<ManifestFault> {
  for (const [name, text] of Object.entries(env_vars ?? {})) {
    const path = ["cli", "env_vars", name];
    if (!isName(name)) {
      yield { path, of: "key", expected: "the name of an environment variable", found: describeFound(name) };
    }
    const odd = /\$\{(?!(?:secret:)?[A-Za-z_][A-Za-z0-9_]*\})[^}]*\}?/.exec(text);
    if (odd) yield { path, expected: "${NAME} or ${secret:NAME} in what it refers to", found: JSON.stringify(odd[0]) };
  }
}

function* exitCodeFaults({ exit_codes }: CliTool): Generator<ManifestFault> {
  for (const code of Object.keys(exit_codes ?? {})) {
    if (/^\d{1,3}$/.test(code) && Number(code) <= 255) continue;
    const path = ["cli", "exit_codes", code];
    yield { path, of: "key", expected: "an exit code from 0 to 255", found: describeFound(code) };
  }
}

/** Says what an operator should know of a tool that is no fault. */
export function toolNotes({ cli }: Pick<Manifest, "cli">): string[] {
  return cli !== undefined && exposesPrompt(parseCommandTemplate(cli.command_template)) ? [exposedPromptNote] : [];
}
