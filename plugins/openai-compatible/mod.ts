import {
  type AccessMode,
  type AdapterContext,
  type AdapterEvent,
  type AdapterEvents,
  AgentAdapter,
  type AgentCapabilities,
  type AgentConfig,
  type AvailabilityReport,
  BulkheadError,
  type ChatMessage,
  errorDataOf,
  type FetchResponse,
  leaveStream,
  modelTurns,
  type SessionRequest,
  SseReader,
  untilAborted,
} from "bulkhead/plugin-sdk";
import { type Access, chooseAccess, replacedModel } from "./access.ts";
import { askForAnswer } from "./ask.ts";
import { ChatStream } from "./chat-stream.ts";
import { failureEvents } from "./failures.ts";
import { dialectOf } from "./output-schema.ts";
import { probeServer } from "./probe.ts";

/** A question to the model: its messages, and the signal that stops it. */
interface Asked {
  ctx: AdapterContext;
  access: Access;
  messages: readonly ChatMessage[];
  signal: AbortSignal;
}

/** The server's answer to it. */
type Answered = Pick<Asked, "ctx" | "signal"> & { response: FetchResponse };

const noMode = "Cannot ask a model: no access mode that fits the option mode is enabled.";

/** Asks one model a question in each turn and streams its answer. */
export default class OpenAiCompatible extends AgentAdapter {
  readonly id = "openai-compatible";
  readonly name = "OpenAI-compatible";
  readonly version = "1.0.0";
  readonly capabilities: AgentCapabilities = {
    code_generation: true,
    code_review: true,
    refactoring: true,
    testing: true,
    documentation: true,
    debugging: true,
  };
  accessModes: AccessMode[] = [];
  #config: AgentConfig = { working_directory: "", access_modes: [] };

  override initialize(config: AgentConfig): void {
    this.#config = config;
    this.accessModes = config.access_modes;
  }

  override async isAvailable(ctx: AdapterContext): Promise<AvailabilityReport> {
    const access = chooseAccess(this.#config);
    return access === null ? { availability: "disabled", reason: noMode } : await probeServer(ctx, access);
  }

  /** Any name: which models there are only the server knows, and it says so when it is asked for another one. */
  override validateModel(model: string): string {
    return model;
  }

  override async *runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents {
    const access = chooseAccess(this.#config);
    if (access === null) throw new BulkheadError("unavailable", noMode);
    const replaced = request.model === undefined ? replacedModel(this.#config, access) : null;
    if (replaced !== null) throw replacedError(replaced);
    const model = request.model ?? access.model;
    const { output_schema: _turns, effort: _this, ...same } = request;
    yield* modelTurns(ctx, (messages, signal, asked) => {
      return this.#answer({ ...same, model, ...asked }, { ctx, access, messages, signal });
    }, dialectOf(access, model));
  }

  async *#answer(
    request: SessionRequest & { model: string },
    { ctx, access, messages, signal }: Asked,
  ): AdapterEvents {
    const { model } = request;
    const detector = this.getRateLimitDetector();
    const response = await askForAnswer(ctx, access, { request, messages });
    try {
      yield { type: "agent_info", model };
      if (!response.ok) {
        const failure = { status: response.status, headers: response.headers, body: await response.text() };
        yield failureEvents(failure, detector);
        return;
      }
      // The operator's prices are of the operator's model.
      const prices = access.type === "local" || model === access.model ? access.prices : null;
      yield* readAnswer(new ChatStream({ prices, detector, isData: request.output_schema !== undefined }), {
        ctx,
        response,
        signal,
      });
    } finally {
      await leaveStream(response.body);
    }
  }
}

function replacedError(model: string): BulkheadError {
  return new BulkheadError("unavailable", `Cannot ask "${model}": the API cannot be used now.`, {
    hint: "Give its key: bulkhead secret set OPENAI_API_KEY. Or name a local_model, which then takes its place.",
  });
}

async function* readAnswer(chat: ChatStream, { ctx, response, signal }: Answered): AdapterEvents {
  const whole = response.headers["content-type"]?.startsWith("application/json") === true;
  try {
    if (whole) yield chat.take(await response.text());
    else yield* readStream(untilAborted(response.body, signal), chat);
  } catch (error) {
    const data = errorDataOf(error);
    if (ctx.signal.aborted || data?.code !== "network_error") throw error;
    yield { type: "error", code: "crash", message: `The answer was cut off: ${data.message}`, recoverable: true };
    return;
  }
  if (!signal.aborted) yield chat.ending();
}

async function* readStream(body: AsyncIterable<string>, chat: ChatStream): AdapterEvents {
  const reader = new SseReader();
  for await (const piece of body) {
    const events: AdapterEvent[] = reader.take(piece).flatMap((data) => chat.take(data));
    if (events.length > 0) yield events;
    // Some servers keep the connection open after their last word.
    if (chat.over) return;
  }
  yield reader.end().flatMap((data) => chat.takeLast(data));
  // A server that failed may say so without calling it JSON, or something in between may answer.
  if (reader.other !== "") yield chat.take(reader.other);
}
