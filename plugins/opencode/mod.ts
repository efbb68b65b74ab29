import {
  type AccessMode,
  type AdapterContext,
  type AdapterEvent,
  type AgentCapabilities,
  type AgentConfig,
  askVersion,
  type AuthStatus,
  CliAdapter,
  type CliCommand,
  collectOutput,
  type FailureMeaning,
  type ParsedLine,
  type RunningProcess,
  type SessionRequest,
} from "bulkhead/plugin-sdk";
import { binary, quietEnv, runCommand } from "./command.ts";
import { RunStream } from "./run-stream.ts";

/** Drives OpenCode: one `opencode run --format json` for each session. */
export default class OpenCode extends CliAdapter {
  readonly id = "opencode";
  readonly name = "OpenCode";
  readonly version = "1.0.0";
  readonly capabilities: AgentCapabilities = {
    code_generation: true,
    code_review: true,
    refactoring: true,
    testing: true,
    documentation: true,
    debugging: true,
    multi_file: true,
    project_context: true,
    max_context_tokens: 200_000,
  };
  accessModes: AccessMode[] = [];
  #stream = new RunStream();

  override initialize(config: AgentConfig): void {
    super.initialize(config);
    this.accessModes = config.access_modes;
  }

  findBinary(): string {
    return binary;
  }

  async getVersion(ctx: AdapterContext): Promise<string | null> {
    return await askVersion({ binary, args: ["--version"], env: quietEnv }, ctx);
  }

  /** It needs no login for some models; so what counts is whether it offers any. */
  async checkAuth(ctx: AdapterContext): Promise<AuthStatus> {
    const said = await collectOutput({ binary, args: ["models"], env: quietEnv }, ctx);
    const models = said.stdout.split("\n").filter((line) => /^[\w.-]+\/\S+$/.test(line));
    if (said.exit_code === 0 && models.length > 0) {
      return { authenticated: true, reason: `OpenCode offers ${models.length} models.` };
    }
    return {
      authenticated: false,
      reason: "OpenCode offers no model.",
      next_step: "Run opencode auth login, or configure a provider in opencode.json.",
    };
  }

  buildCommand(request: SessionRequest): CliCommand {
    this.#stream = new RunStream({ model: request.model, isNew: request.continue_from === undefined });
    return runCommand(request);
  }

  parseOutput(line: string): ParsedLine {
    return this.#stream.read(line);
  }

  override async *streamProcess(
    child: RunningProcess,
    ctx: AdapterContext,
  ): AsyncGenerator<AdapterEvent[], void, void> {
    yield* super.streamProcess(child, ctx);
    const last = this.#stream.end();
    if (last.length > 0) yield last;
  }

  /** Any: which ones there are depends on its configuration and logins. */
  override validateModel(model: string): string {
    return model;
  }

  /** Its sessions share a database in the home, and one that finds it locked for long gives up: a later one need not. */
  override meaningOfText(text: string): FailureMeaning | null {
    return text.includes("database is locked") ? "timeout" : super.meaningOfText(text);
  }

  override get endsWithEvent(): boolean {
    return true;
  }
}
