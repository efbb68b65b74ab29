import type { AccessMode } from "./access-modes.ts";
import type { AdapterClass, AdapterEvents } from "./adapter.ts";
import type { AgentCapabilities } from "./capabilities.ts";
import { CliAdapter, type ParsedLine } from "./cli-adapter.ts";
import type { AuthStatus } from "./cli-availability.ts";
import { type CliCommand, collectOutput } from "./cli-command.ts";
import {
  type CommandTemplate,
  exposedPromptNote,
  exposesPrompt,
  fillCommandTemplate,
  neededPlaceholders,
  parseArguments,
  parseCommandTemplate,
} from "./command-template.ts";
import type { AdapterContext, ProcessExit } from "./context.ts";
import { expandEnv } from "./env-template.ts";
import { BulkheadError, InvalidModelError } from "./errors.ts";
import { checkMappingRules } from "./check-mapping-rules.ts";
import { mapJsonLine, MappingMemory } from "./jsonl-mapping.ts";
import { toolModels } from "./tool-models.ts";
import type { CliTool, ExitMeaning, FailureMeaning, JsonLines, Manifest } from "./manifest.ts";
import type { LastWord } from "./mapping-rule.ts";
import { statesLimit } from "./limit-words.ts";
import { RateLimitDetector } from "./rate-limit.ts";
import type { SessionRequest } from "./request.ts";
import { containsText } from "./text-pattern.ts";
import { ToolEvents } from "./tool-events.ts";

/**
 * Turns one line of a tool's standard output, without its end, into events. It is the default export of the module that
 * a manifest names as `normaliser`. Each session evaluates that module again, so it may keep state.
 */
export type Normaliser = (line: string) => ParsedLine;

const promptFile = "prompt.txt";
const outputFile = "output.txt";

/** The parsed parts of a tool's manifest. */
interface ParsedTool {
  manifest: Manifest;
  tool: CliTool;
  template: CommandTemplate;
  versionArgs: string[] | null;
  authArgs: string[] | null;
  /** Makes the parser of one session's lines. */
  openParser(memory: MappingMemory): (line: string) => ParsedLine;
  printsText: boolean;
  endsWithEvent: boolean;
}

/**
 * Makes the adapter of a manifest with `cli`: a command-line tool without code.
 * @throws {BulkheadError} `invalid_manifest` for a template, probe or rule that cannot be used
 */
export function cliTool(manifest: Manifest, normaliser?: Normaliser): AdapterClass {
  const parsed = parseTool(manifest, normaliser);
  return class extends ToolAdapter {
    constructor() {
      super(parsed);
    }
  };
}

function parseTool(manifest: Manifest, normaliser: Normaliser | undefined): ParsedTool {
  const tool = manifest.cli;
  if (!tool) {
    throw new BulkheadError("invalid_manifest", `Cannot make a tool of plugin "${manifest.id}": it has no "cli".`);
  }
  const template = parseCommandTemplate(tool.command_template, {
    params: Object.keys(manifest.config?.properties ?? {}),
  });
  const lines = tool.output?.format === "jsonl" ? tool.output : null;
  if (lines) checkMappingRules(lines.rules);
  const printed = template.placeholders.includes("output_file") ? progressLine : outputLine;
  return {
    manifest,
    tool,
    template,
    versionArgs: tool.version ? parseArguments(tool.version.args) : null,
    authArgs: tool.auth ? parseArguments(tool.auth.args) : null,
    openParser: (memory) => normaliser ?? (lines ? ruleParser(lines, memory) : printed),
    printsText: !normaliser && !lines,
    endsWithEvent: !normaliser && (lines?.rules.some((rule) => rule.event?.["type"] === "completed") ?? false),
  };
}

/** Returns the model that a tool runs with when the request names none; undefined where the program chooses. */
export function defaultModel({ cli, models, config }: Manifest): string | undefined {
  if (!cli) return undefined;
  if (cli.default_model !== undefined) return cli.default_model;
  const template = parseCommandTemplate(cli.command_template, { params: Object.keys(config?.properties ?? {}) });
  return neededPlaceholders(template).includes("model")
    ? Object.keys(toolModels(cli) ?? {})[0] ?? models?.[0]
    : undefined;
}

class ToolAdapter extends CliAdapter {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly capabilities: AgentCapabilities;
  readonly accessModes: AccessMode[];
  readonly #parsed: ParsedTool;
  #memory = new MappingMemory();
  #parseLine: (line: string) => ParsedLine;

  constructor(parsed: ParsedTool) {
    super();
    this.#parseLine = parsed.openParser(this.#memory);
    const { manifest } = parsed;
    this.#parsed = parsed;
    this.id = manifest.id;
    this.name = manifest.name;
    this.version = manifest.version;
    this.capabilities = manifest.capabilities;
    this.accessModes = manifest.access_modes ?? [];
  }

  findBinary(ctx: AdapterContext): string | null {
    const { binary } = this.#parsed.tool;
    if (typeof binary === "string") return binary;
    const of = (platform: string) => (Object.hasOwn(binary, platform) ? binary[platform] : undefined);
    return of(ctx.platform) ?? of("default") ?? null;
  }

  async getVersion(ctx: AdapterContext): Promise<string | null> {
    const { tool, versionArgs: args } = this.#parsed;
    if (!args) return null;
    // Runs without the tool's environment: a missing key says nothing about the program.
    const said = await collectOutput({ binary: this.#binary(ctx), args }, ctx);
    const text = `${said.stdout}\n${said.stderr}`;
    if (said.exit_code !== 0) {
      throw new BulkheadError(
        "unavailable",
        `Its version probe ended with ${ended(said)}: ${text.trim().slice(0, 512)}`,
      );
    }
    const wanted = tool.version?.contains;
    if (wanted !== undefined && !text.includes(wanted)) {
      throw new BulkheadError("unsupported", `Its version does not say "${wanted}", but: ${text.trim().slice(0, 256)}`);
    }
    return readVersion(text);
  }

  async checkAuth(ctx: AdapterContext): Promise<AuthStatus> {
    const { tool, authArgs: args } = this.#parsed;
    const env = await expandEnv(tool.env_vars ?? {}, ctx);
    if (!args) return { authenticated: true, reason: "Ready (it has no login check)." };
    const said = await collectOutput({ binary: this.#binary(ctx), args, env }, ctx);
    const wanted = tool.auth?.contains;
    if (said.exit_code !== 0) {
      return { authenticated: false, reason: said.stderr.trim() || `Its login probe ended with ${ended(said)}.` };
    }
    if (wanted === undefined || `${said.stdout}\n${said.stderr}`.includes(wanted)) return { authenticated: true };
    return { authenticated: false, reason: `Its login probe does not say "${wanted}".` };
  }

  override async *runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents {
    if (request.prompt.startsWith("-") && exposesPrompt(this.#parsed.template)) {
      yield { type: "progress", message: exposedPromptNote };
    }
    yield* super.runSession(request, ctx);
  }

  async buildCommand(request: SessionRequest, ctx: AdapterContext): Promise<CliCommand> {
    this.#memory = new MappingMemory(request);
    this.#parseLine = this.#parsed.openParser(this.#memory);
    const { manifest, template, tool } = this.#parsed;
    const uses = (placeholder: string) => template.placeholders.includes(placeholder);
    const params = { ...defaultsOf(manifest), ...this.config.custom, ...request.params };
    const env = await expandEnv(tool.env_vars ?? {}, ctx);
    const { continue_from, system_prompt, allowed_tools, max_turns, output_schema } = request;
    const { stdin_file, ...command } = fillCommandTemplate(template, {
      binary: this.#binary(ctx),
      prompt: request.prompt,
      continue_from,
      system_prompt,
      allowed_tools,
      max_turns,
      output_schema,
      workdir: ctx.workdir,
      plugin_dir: ctx.plugin_dir,
      params,
      model: request.model ?? this.#defaultModel(),
      prompt_file: uses("prompt_file") ? await ctx.temp.write(promptFile, request.prompt) : undefined,
      output_file: uses("output_file") ? await ctx.temp.write(outputFile, "") : undefined,
    });
    return {
      ...command,
      env,
      // A program that prints JSON prints its longest line last, and may exit before the host has read it.
      streams: tool.output?.format === "jsonl" ? "sockets" : undefined,
      stdin: stdin_file === undefined ? undefined : request.prompt,
    };
  }

  parseOutput(line: string): ParsedLine {
    return this.#parseLine(line);
  }

  override get printsText(): boolean {
    return this.#parsed.printsText;
  }

  override answer(): string | undefined {
    return this.#memory.messages.answer;
  }

  override get endsWithEvent(): boolean {
    return this.#parsed.endsWithEvent;
  }

  override get tellsToolResults(): boolean {
    const { output } = this.#parsed.tool;
    return output?.format !== "jsonl" || output.rules.some(({ event }) => event?.["type"] === "tool_result");
  }

  override meaningOfExit(exit: ProcessExit): ExitMeaning {
    const meanings = this.#parsed.tool.exit_codes ?? {};
    const key = String(exit.exit_code);
    return (Object.hasOwn(meanings, key) ? meanings[key] : undefined) ?? super.meaningOfExit(exit);
  }

  override finalOutput(ctx: AdapterContext): Promise<string> | undefined {
    return this.#parsed.template.placeholders.includes("output_file") ? ctx.temp.read(outputFile) : undefined;
  }

  override validateModel(model: string): string {
    const { manifest, tool } = this.#parsed;
    const models = toolModels(tool);
    if (models) {
      const own = Object.hasOwn(models, model) ? models[model] : undefined;
      if (own === undefined) throw new InvalidModelError(model, Object.keys(models));
      return own;
    }
    if (manifest.models && !manifest.models.includes(model)) throw new InvalidModelError(model, manifest.models);
    return manifest.models ? model : super.validateModel(model);
  }

  override getRateLimitDetector(): RateLimitDetector {
    return new RateLimitDetector(this.#parsed.tool.failures?.rate_limit ?? []);
  }

  override meaningOfText(text: string): FailureMeaning | null {
    const own = Object.entries(this.#parsed.tool.failures ?? {}) as [FailureMeaning, string[]][];
    const found = own.find(([, texts]) => texts.some((one) => containsText(text, one)));
    // A limit that is stated says more than a word beside it, such as "API key".
    if (found === undefined || (found[0] === "unavailable" && statesLimit(text))) return super.meaningOfText(text);
    return found[0];
  }

  override isNoise(line: string): boolean {
    return this.#parsed.tool.noise?.some((one) => containsText(line, one)) ?? false;
  }

  override get lastWord(): LastWord {
    const { output } = this.#parsed.tool;
    return output?.format === "jsonl" ? output.last_word ?? "last" : "last";
  }

  /** For a caller that is not the host, which names the model in each request. */
  #defaultModel(): string | undefined {
    const model = defaultModel(this.#parsed.manifest);
    return model === undefined ? undefined : this.validateModel(model);
  }

  #binary(ctx: AdapterContext): string {
    const binary = this.findBinary(ctx);
    if (binary !== null) return binary;
    throw new BulkheadError("binary_missing", `Cannot run "${this.id}": it names no program for ${ctx.platform}.`);
  }
}

function ruleParser(lines: JsonLines, memory: MappingMemory): (line: string) => ParsedLine {
  const tools = new ToolEvents(lines);
  return (line) => tools.take(mapJsonLine(line, lines.rules, memory));
}

function defaultsOf(manifest: Manifest): Record<string, unknown> {
  const options = Object.entries(manifest.config?.properties ?? {});
  return Object.fromEntries(options.flatMap(([name, option]) => "default" in option ? [[name, option.default]] : []));
}

function outputLine(line: string): ParsedLine {
  return { type: "output", stream: "stdout", data: `${line}\n` };
}

function progressLine(line: string): ParsedLine {
  return line.trim() === "" ? null : { type: "progress", message: line };
}

/** Returns the first text that looks like a version, else the first line. */
function readVersion(text: string): string | null {
  const found = /\d{1,9}(?:\.\d{1,9}){1,3}(?:[-+][\w.]{1,64})?/.exec(text);
  return found?.[0] ?? (text.trim().split("\n")[0]?.slice(0, 256) || null);
}

function ended(exit: ProcessExit): string {
  return exit.exit_code === null ? `signal ${exit.signal ?? "unknown"}` : `exit code ${exit.exit_code}`;
}
