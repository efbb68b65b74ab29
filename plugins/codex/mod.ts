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
  type ParsedLine,
  type RunningProcess,
  type SessionRequest,
} from "bulkhead/plugin-sdk";
import { execCommand } from "./command.ts";
import { ExecStream } from "./exec-stream.ts";

/** Drives the Codex CLI: one `codex exec --json` for each session. */
export default class Codex extends CliAdapter {
  readonly id = "codex";
  readonly name = "Codex CLI";
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
    max_context_tokens: 272_000,
  };
  accessModes: AccessMode[] = [];
  #stream = new ExecStream();

  override initialize(config: AgentConfig): void {
    super.initialize(config);
    this.accessModes = config.access_modes;
  }

  findBinary(): string {
    return "codex";
  }

  async getVersion(ctx: AdapterContext): Promise<string | null> {
    return await askVersion({ binary: "codex", args: ["--version"] }, ctx);
  }

  async checkAuth(ctx: AdapterContext): Promise<AuthStatus> {
    const said = await collectOutput({ binary: "codex", args: ["login", "status"] }, ctx);
    // It says how, with a masked key: only whether is passed on.
    if (said.exit_code === 0) return { authenticated: true, reason: "codex login status says that it is logged in." };
    return { authenticated: false, reason: "Codex is not logged in.", next_step: "Run codex login." };
  }

  buildCommand(request: SessionRequest, _ctx: AdapterContext): CliCommand {
    const { sandbox = "workspace-write" } = { ...this.config.custom, ...request.params };
    const [mode] = this.config.access_modes;
    // Without a model in the request the user's own settings name it.
    const { model, continue_from: thread } = request;
    this.#stream = new ExecStream({ model, resumed: thread !== undefined });
    return execCommand({
      prompt: request.prompt,
      sandbox,
      contained: this.config.programs_contained === true,
      model,
      thread,
      byPlan: mode?.type === "subscription",
    });
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

  /** Any: which ones there are depends on the login. */
  override validateModel(model: string): string {
    return model;
  }

  override get endsWithEvent(): boolean {
    return true;
  }
}
