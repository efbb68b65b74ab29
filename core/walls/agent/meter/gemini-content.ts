import { fieldsOrNone } from "../../../../plugin-sdk/json-fields.ts";
import { type AnswerFacts, type MeteredProtocol, sumOf, takeFigures, tokensIn } from "./protocol.ts";

/** Gemini's generateContent. Each piece of a stream tells the figures so far. */
export const geminiContent: MeteredProtocol = {
  name: "gemini_content",
  takes: (path) => /:(?:stream)?generateContent$/i.test(path),
  telling: 'TokenCount"',
  wanted: ["usageMetadata", "modelVersion", "error.details"],
  read(facts, path, value) {
    if (path === "usageMetadata") readUsage(facts, value);
    else facts.retryMs = retryIn(value) ?? facts.retryMs;
  },
  refusal: (message) => ({ error: { code: 400, message, status: "FAILED_PRECONDITION" } }),
};

function readUsage(facts: AnswerFacts, value: unknown): void {
  const told = fieldsOrNone(value);
  takeFigures(facts, {
    tokens_in: sumOf(facts, told, ["promptTokenCount", "toolUsePromptTokenCount"]),
    tokens_cached: tokensIn(told["cachedContentTokenCount"] ?? 0),
    // A piece without words has no candidates yet.
    tokens_out: sumOf(facts, { candidatesTokenCount: 0, ...told }, ["candidatesTokenCount", "thoughtsTokenCount"]),
  }, { isFinal: true });
}

/** Returns the wait that an error's `RetryInfo` asks for. */
function retryIn(details: unknown): number | null {
  if (!Array.isArray(details)) return null;
  for (const detail of details.slice(0, 20)) {
    const [, seconds] = /^(\d{1,7}(?:\.\d+)?)s$/.exec(String(fieldsOrNone(detail)["retryDelay"])) ?? [];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000);
  }
  return null;
}
