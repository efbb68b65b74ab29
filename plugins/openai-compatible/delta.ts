import { type AdapterEvent, fieldsOf, fieldsOrNone, type JsonFields, objectsOf, textOf } from "bulkhead/plugin-sdk";

/** Content of one piece of an answer. */
interface Delta {
  events: AdapterEvent[];
  refused: boolean;
  /** Whether part of it has an unknown form, or asks for something that cannot be answered. */
  odd: boolean;
}

/** Reads a `delta`, or the whole `message` that a server sends which does not stream. */
export function readDelta(delta: JsonFields): Delta {
  const thought = readThinking(delta);
  const content = readContent(delta["content"]);
  const refusal = textOf(delta["refusal"]);
  return {
    events: [...thinking(thought), ...content ?? [], ...output(refusal)],
    refused: refusal !== undefined,
    odd: content === null || (thought === undefined && hasThinking(delta)) || callsTool(delta),
  };
}

/** Servers differ in the name, and some fill several with the same text: the first that holds one counts. */
function readThinking(delta: JsonFields): string | undefined {
  const details = objectsOf(delta["reasoning_details"]).flatMap((one) => textOf(one["text"] ?? one["summary"]) ?? []);
  return textOf(delta["reasoning_content"]) ?? textOf(delta["reasoning"]) ?? textOf(details.join(""));
}

function hasThinking(delta: JsonFields): boolean {
  return [delta["reasoning_content"], delta["reasoning"]].some((value) => typeof value !== "string" && Boolean(value));
}

/** A text, or a list of parts; null for any other form. */
function readContent(content: unknown): AdapterEvent[] | null {
  if (Array.isArray(content)) return content.flatMap(readPart);
  return typeof content === "string" ? output(content) : (content ?? null) === null ? [] : null;
}

function readPart(part: unknown): AdapterEvent[] {
  const { type, text, thinking: thought } = fieldsOrNone(part);
  if (type === "text" && typeof text === "string") return output(text);
  if (type !== "thinking") return [{ type: "unparsed", data: part }];
  return thinking(
    typeof thought === "string" ? thought : objectsOf(thought).map((one) => textOf(one["text"])).join(""),
  );
}

/** No tool is offered, so a call of one is nothing that could be answered. */
function callsTool(delta: JsonFields): boolean {
  return objectsOf(delta["tool_calls"]).length > 0 || fieldsOf(delta["function_call"]) !== null;
}

function thinking(content: string | undefined): AdapterEvent[] {
  return content ? [{ type: "thinking", content }] : [];
}

function output(data: string | undefined): AdapterEvent[] {
  return data ? [{ type: "output", stream: "stdout", data }] : [];
}
