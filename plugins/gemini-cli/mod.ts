import {
  type AccessMode,
  type AdapterContext,
  type AdapterEvent,
  type AgentCapabilities,
  type AgentConfig,
  askVersion,
  type AuthStatus,
  BulkheadError,
  CliAdapter,
  type CliCommand,
  type ExitMeaning,
  type ParsedLine,
  type ProcessExit,
  type RunningProcess,
  type SessionRequest,
} from "bulkhead/plugin-sdk";
import { meaningOfCode, noise } from "./failures.ts";
import { HeadlessStream } from "./headless-stream.ts";

/** Drives the Gemini CLI: one headless run for each session. */
export default class GeminiCli extends CliAdapter {
  readonly id = "gemini-cli";
  readonly name = "Gemini CLI";
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
    web_search: true,
    max_context_tokens: 1_048_576,
  };
  accessModes: AccessMode[] = [];
  readonly #stream = new HeadlessStream();

  override initialize(config: AgentConfig): void {
    super.initialize(config);
    this.accessModes = config.access_modes;
  }

  findBinary(): string {
    return "gemini";
  }

  async getVersion(ctx: AdapterContext): Promise<string | null> {
    return await askVersion({ binary: "gemini", args: ["--version"] }, ctx);
  }

  /** The CLI has no question that says so without spending anything. */
  checkAuth(): AuthStatus {
    return { authenticated: true, reason: "It is installed; the Gemini CLI cannot be asked whether it is logged in." };
  }

  buildCommand(request: SessionRequest): CliCommand {
    // Without a model in the request the user's own settings name it.
    const { model, continue_from: session } = request;
    if (model !== undefined && !/^\w/.test(model)) {
      throw new BulkheadError("invalid_model", `Model "${model}" is not offered: its name does not begin as one.`);
    }
    if (session !== undefined && !/^\w/.test(session)) {
      throw new BulkheadError("invalid_request", `Cannot continue "${session}": it is not the id of a session.`);
    }
    return {
      binary: "gemini",
      args: [
        ...["--output-format", "stream-json", "--yolo", "--skip-trust"],
        ...(model === undefined ? [] : ["-m", model]),
        ...(session === undefined ? [] : ["--resume", session]),
      ],
      // Without an argument for it the prompt is read from here, where it can be no option.
      stdin: request.prompt,
      // It ends itself with its last line, whether that was read or not.
      streams: "sockets",
    };
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

  override meaningOfExit(exit: ProcessExit): ExitMeaning {
    return meaningOfCode(exit.exit_code);
  }

  override isNoise(line: string): boolean {
    return noise.test(line);
  }

  override get endsWithEvent(): boolean {
    return true;
  }
}
