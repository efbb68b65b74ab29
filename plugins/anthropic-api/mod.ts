import {
  type AccessMode,
  type AdapterContext,
  type AdapterEvents,
  AgentAdapter,
  type AgentCapabilities,
  type AgentConfig,
  type ApiAccess,
  type AvailabilityReport,
  BulkheadError,
  countOf,
  errorDataOf,
  type FetchResponse,
  leaveStream,
  modelTurns,
  type SessionRequest,
  SseReader,
  untilAborted,
} from "bulkhead/plugin-sdk";
import { askForAnswer } from "./ask.ts";
import { failureEvents } from "./failures.ts";
import { MessageStream } from "./message-stream.ts";
import { dialectOf } from "./output-schema.ts";
import { probeApi } from "./probe.ts";

const noMode = "Cannot ask a model: no access mode of the type api is enabled.";

/** Asks one model of the Messages API a question in each turn and streams its answer. */
export default class AnthropicApi extends AgentAdapter {
  readonly id = "anthropic-api";
  readonly name = "Anthropic API";
  readonly version = "1.0.0";
  readonly capabilities: AgentCapabilities = {
    code_generation: true,
    code_review: true,
    refactoring: true,
    testing: true,
    documentation: true,
    debugging: true,
    max_context_tokens: 200_000,
  };
  accessModes: AccessMode[] = [];
  #custom: Record<string, unknown> = {};

  override initialize({ access_modes, custom = {} }: AgentConfig): void {
    this.accessModes = access_modes;
    this.#custom = custom;
  }

  override async isAvailable(ctx: AdapterContext): Promise<AvailabilityReport> {
    const mode = this.#mode();
    return mode === undefined ? { availability: "disabled", reason: noMode } : await probeApi(ctx, mode);
  }

  /** Any name: the API knows its models, and says so when it is asked for another one. */
  override validateModel(model: string): string {
    return model;
  }

  override async *runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents {
    const mode = this.#mode();
    if (mode === undefined) throw new BulkheadError("unavailable", noMode);
    const detector = this.getRateLimitDetector();
    const model = request.model ?? mode.model;
    const limits = {
      maxTokens: countOf(this.#custom["max_tokens"]) ?? mode.max_tokens,
      thinkingTokens: countOf(this.#custom["thinking_tokens"]),
    };
    const { output_schema: _turns, effort: _this, ...same } = request;
    yield* modelTurns(ctx, async function* (messages, signal, asked) {
      const response = await askForAnswer(ctx, mode, { request: { ...same, model, ...asked }, messages, limits });
      try {
        yield { type: "agent_info", model };
        const stream = new MessageStream(detector, { isData: asked.output_schema !== undefined });
        if (response.ok) return yield* readAnswer(stream, { ctx, response, signal });
        const failure = { status: response.status, headers: response.headers, body: await response.text() };
        yield failureEvents(failure, detector);
      } finally {
        await leaveStream(response.body);
      }
    }, dialectOf(model));
  }

  #mode(): ApiAccess | undefined {
    return this.accessModes.find((one): one is ApiAccess => one.enabled && one.type === "api");
  }
}

/** The API's answer, and the signal that stops its turn. */
interface Answered {
  ctx: AdapterContext;
  response: FetchResponse;
  signal: AbortSignal;
}

async function* readAnswer(message: MessageStream, { ctx, response, signal }: Answered): AdapterEvents {
  const reader = new SseReader();
  try {
    for await (const piece of untilAborted(response.body, signal)) {
      const events = reader.take(piece).flatMap((data) => message.take(data));
      if (events.length > 0) yield events;
      if (message.over) break;
    }
    yield reader.end().flatMap((data) => message.takeLast(data));
    // A failure on the way may come with a status of success and no stream.
    if (reader.other !== "") yield message.take(reader.other);
  } catch (error) {
    const data = errorDataOf(error);
    if (ctx.signal.aborted || data?.code !== "network_error") throw error;
    yield { type: "error", code: "crash", message: `The answer was cut off: ${data.message}`, recoverable: true };
    return;
  }
  if (!signal.aborted) yield message.ending();
}
