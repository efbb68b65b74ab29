import {
  type AccessMode,
  type AdapterContext,
  type AdapterEvent,
  type AdapterEvents,
  type AgentCapabilities,
  type AgentConfig,
  type AuthStatus,
  BulkheadError,
  CliAdapter,
  type CliCommand,
  errorDataOf,
  type ExitMeaning,
  mergeStreams,
  RpcError,
  type RunningProcess,
  type SessionRequest,
  startCommand,
} from "bulkhead/plugin-sdk";
import { saysApproval } from "./asking.ts";
import { Conversation } from "./conversation.ts";
import { errorOutput } from "./error-output.ts";
import { failureOf } from "./failures.ts";
import { type AgentOptions, agentOptions, type Program } from "./options.ts";
import { processTransport } from "./process-transport.ts";
import { runRemote } from "./remote-session.ts";
import { remoteTransport } from "./remote-transport.ts";
import type { Transport } from "./transport.ts";

/** How long the agent may take to end its turn when it is asked to; the host gives a second in all. */
const politeMs = 700;

/** How long an agent may take to end after its last turn of several. */
const leaveMs = 2000;

/** Drives any agent that speaks the Agent Client Protocol. */
export default class AcpAgent extends CliAdapter {
  readonly id = "acp";
  readonly name = "Agent Client Protocol";
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
  };
  accessModes: AccessMode[] = [];
  #request: SessionRequest | null = null;
  #conversation: Conversation | null = null;
  #login: AuthStatus = { authenticated: true };

  override initialize(config: AgentConfig): void {
    void super.initialize(config);
    this.accessModes = config.access_modes;
  }

  findBinary(): string {
    const { reach } = this.#options();
    return "url" in reach ? reach.url : reach.command;
  }

  /** Greets the agent and opens a session with it; a missing login shows in that, and is kept for {@link checkAuth}. */
  async getVersion(ctx: AdapterContext): Promise<string | null> {
    const options = this.#options();
    const { reach } = options;
    if ("url" in reach) return await this.#greet(remoteTransport(reach, ctx), { ctx, options, said: () => "" });
    const child = await startCommand(commandOf(reach), ctx);
    const said = tailOf(child.stderr);
    try {
      return await this.#greet(processTransport(child), { ctx, options, said });
    } finally {
      await child.kill().catch(() => {});
    }
  }

  checkAuth(): AuthStatus {
    return this.#login;
  }

  buildCommand(request: SessionRequest): CliCommand {
    this.#request = request;
    const { reach, asking } = this.#options(request.params);
    if ("url" in reach) throw new BulkheadError("internal", "An agent elsewhere has no command.");
    return commandOf({ ...reach, set: { ...reach.set, ...(saysApproval(request) ? asking.set : {}) } });
  }

  override async *runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents {
    const options = this.#options(request.params);
    const { reach } = options;
    if (!("url" in reach)) return yield* super.runSession(request, ctx);
    yield* runRemote(request, { agent: reach, options, ctx, detector: this.getRateLimitDetector() });
  }

  /** Lines go through {@link streamProcess}, as messages. */
  parseOutput(line: string): AdapterEvent {
    return { type: "unparsed", data: line };
  }

  override async *streamProcess(
    child: RunningProcess,
    ctx: AdapterContext,
  ): AsyncGenerator<AdapterEvent[], void, void> {
    const request = this.#request!;
    const options = this.#options(request.params);
    const conversation = this.#conversation = new Conversation(processTransport(child), {
      ctx,
      options,
      contained: this.config.programs_contained === true,
    });
    const errors = errorOutput(child, {
      detector: this.getRateLimitDetector(),
      heard: (text) => conversation.heardError(text),
      isToolOutput: (line) => conversation.isToolOutput(line),
      limited: (limit) => conversation.limited(limit),
    });
    for await (const events of mergeStreams(this.#talk(request, child), held(errors, conversation))) {
      // An agent that is told no may leave its call at that.
      if (conversation.rejected) this.work.forgetCalls();
      if (events.length > 0) yield events;
    }
  }

  /** An agent that has had its last turn ends by itself once it is left; one that stays is killed. */
  async *#talk(request: SessionRequest, child: RunningProcess): AsyncGenerator<AdapterEvent[], void, void> {
    const conversation = this.#conversation!;
    yield* conversation.run(request);
    if (!conversation.isBetweenTurns) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, leaveMs));
    await Promise.race([child.exit, late]);
    clearTimeout(timer);
    await child.kill().catch(() => {});
  }

  /** Measurements of `gemini --acp`. */
  override isNoise(line: string): boolean {
    return line.startsWith("[STARTUP] ");
  }

  /** Asks the agent to end its turn, which lets it end its tools, and kills it when that takes too long. */
  override async stopProcess(child: RunningProcess): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, politeMs));
    await Promise.race([this.#conversation?.cancel().catch(() => {}), late]);
    clearTimeout(timer);
    await child.kill();
  }

  /** One that ends before it has answered does not speak the protocol; one that ends later has failed, in any case. */
  override meaningOfExit(): ExitMeaning {
    return this.#conversation?.greeted ? "completed" : "unavailable";
  }

  override get endsWithEvent(): boolean {
    return true;
  }

  override get isBetweenTurns(): boolean {
    return this.#conversation?.isBetweenTurns === true;
  }

  /** The agent says which ones it offers, once a session is open. */
  override validateModel(model: string): string {
    return model;
  }

  #options(params: Readonly<Record<string, unknown>> = {}): AgentOptions {
    const agent = this.config.custom?.["agent"];
    if (params["agent"] !== undefined && params["agent"] !== agent) throw anotherAgent(params["agent"]);
    return agentOptions({ ...this.config.custom, ...params });
  }

  async #greet(
    transport: Transport,
    { ctx, options, said }: { ctx: AdapterContext; options: AgentOptions; said: () => string },
  ): Promise<string | null> {
    try {
      const { version } = await new Conversation(transport, { ctx, options }).probe();
      return version ?? null;
    } catch (thrown) {
      if (errorDataOf(thrown)) throw thrown;
      if (!(thrown instanceof RpcError)) throw silent(options, said());
      const { code, message, recoverable } = failureOf(thrown);
      if (code !== "unavailable" || recoverable) throw new BulkheadError("unavailable", message);
      this.#login = { authenticated: false, reason: message, next_step: options.nextStep };
      return null;
    } finally {
      await transport.close().catch(() => {});
    }
  }
}

/** Holds back error output that comes between two turns. */
async function* held(
  errors: AsyncIterable<AdapterEvent[]>,
  conversation: Conversation,
): AsyncGenerator<AdapterEvent[], void, void> {
  for await (const events of errors) yield conversation.hold(events);
}

function commandOf({ command, args, set }: Program): CliCommand {
  return { binary: command, args, env: { ...set }, stdin: "", keep_stdin_open: true };
}

/** The manifest asks for the program and the hosts of the agent under `config` alone. */
function anotherAgent(agent: unknown): BulkheadError {
  const name = String(agent);
  return new BulkheadError("invalid_config", `Cannot run the agent "${name}": a request cannot choose it.`, {
    hint: `Make an instance for it: bulkhead plugin enable acp --as ${name}-acp --option agent=${name}`,
  });
}

function silent({ reach }: AgentOptions, said: string): BulkheadError {
  const name = "url" in reach ? reach.url : [reach.command, ...reach.args].join(" ");
  const why = said === "" ? "" : `: ${said}`;
  return new BulkheadError("unavailable", `"${name}" ended without an answer in the Agent Client Protocol${why}.`);
}

/** Reads a stream to its end beside other things, and gives the last of it. */
function tailOf(stream: AsyncIterable<string>): () => string {
  let tail = "";
  const read = async (): Promise<void> => {
    for await (const text of stream) tail = (tail + text).slice(-512);
  };
  void read().catch(() => {});
  return () => tail.trim();
}
