import {
  type AccessMode,
  type AdapterContext,
  type AdapterEvent,
  type AgentCapabilities,
  type AgentConfig,
  attachedParts,
  type AuthStatus,
  BulkheadError,
  CliAdapter,
  type CliCommand,
  collectOutput,
  fieldsOf,
  parseJson,
  requestIn,
  type RunningProcess,
  type SessionRequest,
  talkInTurns,
  textOf,
} from "bulkhead/plugin-sdk";
import { binary, type Options, sessionCommand } from "./command.ts";
import { interruptLine } from "./control-requests.ts";
import { checked } from "./output-schema.ts";
import { StreamParser } from "./stream-parser.ts";

/** How long the program may take to end by itself after it was asked to stop; the host gives a second in all. */
const politeMs = 700;

/** Drives Claude Code without a terminal, over its two-way protocol of JSON lines. */
export default class ClaudeCode extends CliAdapter {
  readonly id = "claude-code";
  readonly name = "Claude Code";
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
    max_context_tokens: 200_000,
  };
  accessModes: AccessMode[] = [];
  #parser = new StreamParser();
  /** The schema holds for the whole program. */
  #schema: unknown;
  protected override readonly talk = talkInTurns({
    prompt: async ({ prompt, content, output_schema, kept, ...terms }, ctx) => {
      if (!isSame(output_schema, this.#schema)) return null;
      this.#parser.beginTurn({ kept });
      const asked = { workdir: "", prompt, ...(output_schema === undefined ? {} : { output_schema }) };
      const lines = this.#parser.terms.lines(terms);
      return lines + this.#parser.prompts.begin(requestIn(asked, checked).prompt, await attachedParts(ctx, content));
    },
    steer: async ({ message_id, text, content }, ctx) =>
      await this.#parser.prompts.steer(message_id, text, await attachedParts(ctx, content)),
    stop: interruptLine,
    over: () => this.#parser.prompts.areDone,
  });

  override initialize(config: AgentConfig): void {
    void super.initialize(config);
    this.accessModes = config.access_modes;
  }

  findBinary(): string {
    return binary;
  }

  async getVersion(ctx: AdapterContext): Promise<string | null> {
    const said = await collectOutput({ binary, args: ["--version"] }, ctx);
    const version = /\d+\.\d+\.\d+\S*/.exec(said.stdout)?.[0];
    if (said.exit_code === 0 && version !== undefined) return version;
    const text = `${said.stdout}\n${said.stderr}`.trim().slice(0, 512);
    throw new BulkheadError("unsupported", `"${binary} --version" does not say a version: ${text || "nothing"}.`);
  }

  async checkAuth(ctx: AdapterContext): Promise<AuthStatus> {
    const said = await collectOutput({ binary, args: ["auth", "status"] }, ctx);
    const status = fieldsOf(parseJson(said.stdout));
    if (status?.["loggedIn"] === true) {
      const method = textOf(status["authMethod"]) ?? "some way";
      const byKey = method === "api_key" || method === "api_key_helper";
      return {
        authenticated: true,
        reason: `It is logged in by ${method}.`,
        ...(byKey ? { access_mode: "api" } : {}),
      };
    }
    if (status === null && said.exit_code === 0) return { authenticated: true };
    const next_step = "Run `claude auth login`, or set ANTHROPIC_API_KEY.";
    if (status) return { authenticated: false, reason: "Claude Code is not logged in.", next_step };
    const text = said.stderr.trim().slice(0, 512);
    return { authenticated: false, reason: `"claude auth status" failed: ${text || "it says nothing"}`, next_step };
  }

  buildCommand(request: SessionRequest): CliCommand {
    this.#parser = new StreamParser({ resumed: request.continue_from !== undefined });
    this.#schema = request.output_schema;
    const options = optionsOf(this.config, request);
    return sessionCommand(request, options, memoryOf(this.config, options));
  }

  parseOutput(line: string): AdapterEvent[] {
    const events = this.#parser.parse(line);
    this.work.setTasks(this.#parser.tasks);
    return events;
  }

  override get endsWithEvent(): boolean {
    return true;
  }

  /** The program knows the names of models, and which of them an account may use. */
  override validateModel(model: string): string {
    return model;
  }

  override async *streamProcess(
    child: RunningProcess,
    ctx: AdapterContext,
  ): AsyncGenerator<AdapterEvent[], void, void> {
    const { control } = this.#parser;
    const { left_out = [] } = this.config.project_memory ?? {};
    if (left_out.length > 0) {
      const files = left_out.slice(0, 20).join(", ").slice(0, 1024);
      yield [{ type: "progress", message: `Of the project's instructions these were left out: ${files}.` }];
    }
    // A program that is gone takes no more answers: how it ends says the rest.
    const write = (line: string | null): void => void (line === null ? null : child.stdin.write(line).catch(() => {}));
    for await (const events of super.streamProcess(child, ctx)) {
      yield events;
      control.refusals().forEach(write);
      for (const event of events) {
        if (event.type !== "permission_request" && event.type !== "question") continue;
        const { request_id, type } = event;
        const open = control.opened(request_id);
        // No answer is a denial: the program would wait on.
        if (type === "question") {
          ctx.answer(request_id).catch(() => null).then((text) => write(control.reply(request_id, text, open)));
        } else ctx.permission(request_id).catch(() => null).then((one) => write(control.permit(request_id, one, open)));
      }
    }
  }

  /** It waits for another prompt until its input ends. */
  override leaveProcess(child: RunningProcess): Promise<void> {
    return child.stdin.close();
  }

  /** Asks it to stop, which lets it end its tools and say what it used, and kills it when that takes too long. */
  override async stopProcess(child: RunningProcess): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, politeMs));
    const polite = child.stdin.write(interruptLine()).then(() => child.exit);
    await Promise.race([polite.catch(() => {}), late]);
    clearTimeout(timer);
    await child.kill();
  }
}

/** The project's instructions, unless the program reads them itself. */
function memoryOf({ project_memory }: AgentConfig, { setting_sources }: Options): string | null {
  if (!project_memory?.text || setting_sources.split(",").includes("project")) return null;
  return [
    "The project has instructions for you. Follow them, as far as the user's request does not say otherwise. A folder below may have a CLAUDE.md of its own: read it before you work there.",
    project_memory.text,
  ].join("\n\n");
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function optionsOf({ custom = {} }: AgentConfig, { params = {} }: SessionRequest): Options {
  const { setting_sources, max_retries } = { ...custom, ...params };
  return {
    setting_sources: typeof setting_sources === "string" ? setting_sources : "user",
    max_retries: typeof max_retries === "number" ? max_retries : 2,
  };
}
