import {
  type AccessMode,
  type AdapterContext,
  type AdapterEvents,
  type AgentCapabilities,
  type AgentConfig,
  askVersion,
  type AuthStatus,
  CliAdapter,
  type CliCommand,
  CliEnding,
  collectOutput,
  type ParsedLine,
  type SessionRequest,
  startCommand,
} from "bulkhead/plugin-sdk";
import { AppServer } from "./app-server.ts";
import { openingOf, serverCommand } from "./command.ts";

/** Drives the Codex CLI: one `codex app-server` for each session, and one thread in it. */
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
  #server: AppServer | null = null;

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

  buildCommand(): CliCommand {
    const [mode] = this.config.access_modes;
    return serverCommand({ byPlan: mode?.type === "subscription" });
  }

  override async *runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents {
    ctx.signal.throwIfAborted();
    const { sandbox = "workspace-write" } = { ...this.config.custom, ...request.params };
    const opening = openingOf({
      sandbox,
      contained: this.config.programs_contained === true,
      asks: saysApproval(request),
      // Without a model in the request the user's own settings name it.
      model: request.model,
      thread: request.continue_from,
      fork: request.fork,
    });
    const child = await startCommand(this.buildCommand(), ctx);
    const server = this.#server = new AppServer(child, {
      ctx,
      opening,
      version: this.version,
      ending: () =>
        new CliEnding({ detector: this.getRateLimitDetector(), meaningOf: (text) => this.meaningOfText(text) }),
    });
    const stop = (): void => void server.stop();
    ctx.signal.addEventListener("abort", stop);
    try {
      if (ctx.signal.aborted) await server.kill();
      yield* server.run(ctx.turns);
    } finally {
      ctx.signal.removeEventListener("abort", stop);
      await server.kill();
    }
  }

  override async interrupt(): Promise<void> {
    await this.#server?.stop();
  }

  /** Lines go through {@link runSession}, as messages. */
  parseOutput(line: string): ParsedLine {
    return { type: "unparsed", data: line };
  }

  /** Any: which ones there are depends on the login. */
  override validateModel(model: string): string {
    return model;
  }
}

/** Whether a request says how what the agent does is approved, and not all of it beforehand. */
function saysApproval({ approval = "all", allowed_tools, tool_approvals = {} }: SessionRequest): boolean {
  const rules = Object.values(tool_approvals).filter((answer) => answer !== "allow");
  return approval !== "all" || allowed_tools !== undefined || rules.length > 0;
}
