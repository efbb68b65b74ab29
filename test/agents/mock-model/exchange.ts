/** A tool that a request offers to the model. */
export interface OfferedTool {
  name: string;
  /** JSON Schema of its arguments; null for a tool that takes one text. */
  schema: JsonSchema | null;
  /** Group of tools that it is in, where the protocol has such. */
  namespace?: string;
}

/** What is read of a tool's schema. */
export interface JsonSchema {
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  enum?: unknown[];
}

/** What a request says, in whatever protocol. */
export interface Asked {
  model: string;
  streams: boolean;
  tools: OfferedTool[];
  /** A tool's result is the last thing that was said. */
  answered: boolean;
  /** What was said to the model, or the first of it: a helper is told apart by that. */
  begins?: string;
  /** The last message. */
  ends?: string;
  /** Names of the tools that the model has called. */
  calls?: string[];
  /** The model may show its thinking. */
  mayThink: boolean;
  /** Tokens of the input that came from the model's cache. */
  cached?: number;
}

/** A tool that the model calls. */
export interface ModelCall {
  id: string;
  tool: OfferedTool;
  /** An object of arguments, or the text of a tool that takes one. */
  input: Record<string, unknown> | string;
}

/** One answer of the model; its text may go on for ever, or break off by throwing. */
export interface Answer {
  thinking: string[];
  text: AsyncIterable<string>;
  calls: ModelCall[];
}

/** How a request fails. */
export type Failure =
  | "unauthorised"
  | "forbidden"
  | "rate_limit"
  | "rate_limit_wait"
  | "plan_limit"
  | "server_error"
  | "context_overflow";

/** An answer over HTTP that is no success. */
export interface FailureReply {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** One way to talk to a model: what is read of a request, and what is written for an answer or a failure. */
export interface Protocol {
  /** Whether a request to that path is in this protocol. */
  takes(path: string): boolean;
  read(body: unknown, path: string): Asked;
  /** Frames of server-sent events. */
  stream(answer: Answer, asked: Asked): AsyncGenerator<string>;
  whole(answer: Answer, asked: Asked): Promise<unknown>;
  fail(failure: Failure): FailureReply;
}

/** Seconds until a plan's limit is lifted. */
export const planResetS = 3600;
/** Seconds of the header retry-after. */
export const retryAfterS = 2;

/** What each failure says, in every protocol. */
export const sentences: Record<Failure, string> = {
  unauthorised: "The key is not one that this server knows.",
  forbidden: "This account may not use that model.",
  rate_limit: "Too many requests for this model in this minute.",
  rate_limit_wait: "Too many requests for this model in this minute.",
  plan_limit: "The plan's limit is reached.",
  server_error: "The server failed on this request.",
  context_overflow: "prompt is too long: 250000 tokens > 200000 maximum",
};

/** HTTP status of each failure. */
export const statuses: Record<Failure, number> = {
  unauthorised: 401,
  forbidden: 403,
  rate_limit: 429,
  rate_limit_wait: 429,
  plan_limit: 429,
  server_error: 500,
  context_overflow: 400,
};

/** A frame of server-sent events. */
export function frame(data: unknown, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** The text of an answer as a whole. */
export async function wholeText(answer: Answer): Promise<string> {
  let text = "";
  for await (const piece of answer.text) text += piece;
  return text;
}

/** Arguments of a call as the text that a model would write, in pieces. */
export function argumentPieces(call: ModelCall): string[] {
  const text = typeof call.input === "string" ? call.input : JSON.stringify(call.input);
  return text.match(/[^]{1,48}/g) ?? [];
}

/** A JSON object's field; undefined in anything else. */
export function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

/** A list, or none. */
export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A schema as it stands in a request. */
export function schemaOf(value: unknown): JsonSchema {
  return typeof value === "object" && value !== null ? value : {};
}
