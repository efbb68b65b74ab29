import {
  type Asked,
  type Failure,
  field,
  frame,
  list,
  planResetS,
  type Protocol,
  retryAfterS,
  schemaOf,
  sentences,
  statuses,
  wholeText,
} from "./exchange.ts";

const usageOf = ({ cached = 0 }: Asked) => ({
  promptTokenCount: 100,
  candidatesTokenCount: 20,
  thoughtsTokenCount: 5,
  totalTokenCount: 125,
  ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
});
const google = "type.googleapis.com/google.rpc";

/** Google's generateContent, whole and streamed. */
export const geminiContent: Protocol = {
  takes: (path) => /:(stream)?generateContent$/i.test(path),

  read(body, path) {
    const contents = list(field(body, "contents"));
    const last = contents.at(-1);
    const partsOf = (role: string) =>
      contents.filter((one) => field(one, "role") === role).flatMap((one) => list(field(one, "parts")));
    const thinking = field(field(field(body, "generationConfig"), "thinkingConfig"), "includeThoughts");
    return {
      begins: JSON.stringify(partsOf("user").map((part) => field(part, "text"))),
      calls: partsOf("model").map((part) => String(field(field(part, "functionCall"), "name"))),
      model: /models\/([^:]+):/.exec(path)?.[1] ?? "",
      streams: /:streamGenerateContent$/i.test(path),
      tools: list(field(body, "tools")).flatMap((group) =>
        list(field(group, "functionDeclarations")).map((tool) => ({
          name: String(field(tool, "name")),
          schema: schemaOf(field(tool, "parametersJsonSchema") ?? field(tool, "parameters")),
        }))
      ),
      answered: list(field(last, "parts")).some((part) => field(part, "functionResponse") !== undefined),
      mayThink: thinking === true,
    };
  },

  async *stream(answer, asked) {
    const send = (parts: unknown[], more: Record<string, unknown> = {}) =>
      frame({ candidates: [{ content: { role: "model", parts }, index: 0, ...more }], usageMetadata: usageOf(asked) });
    if (asked.mayThink) { for (const text of answer.thinking) yield send([{ text, thought: true }]); }
    for await (const text of answer.text) yield send([{ text }]);
    for (const { id, tool, input } of answer.calls) {
      yield send([{ functionCall: { id, name: tool.name, args: input }, thoughtSignature: "bW9jaw==" }]);
    }
    yield send([{ text: "" }], { finishReason: "STOP" });
  },

  async whole(answer, asked) {
    const calls = answer.calls.map(({ id, tool, input }) => ({ functionCall: { id, name: tool.name, args: input } }));
    const parts = [{ text: await wholeText(answer) }, ...calls];
    return {
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
      usageMetadata: usageOf(asked),
    };
  },

  fail(failure) {
    const code = statuses[failure];
    const details = detailsOf(failure);
    const error = { code, message: sentences[failure], status: names[failure], ...(details ? { details } : {}) };
    return { status: code, body: { error } };
  },
};

const names: Record<Failure, string> = {
  unauthorised: "UNAUTHENTICATED",
  forbidden: "PERMISSION_DENIED",
  rate_limit: "RESOURCE_EXHAUSTED",
  rate_limit_wait: "RESOURCE_EXHAUSTED",
  plan_limit: "RESOURCE_EXHAUSTED",
  server_error: "INTERNAL",
  context_overflow: "INVALID_ARGUMENT",
};

function detailsOf(failure: Failure): unknown[] | null {
  if (failure === "rate_limit_wait") return [{ "@type": `${google}.RetryInfo`, retryDelay: `${retryAfterS}s` }];
  if (failure !== "plan_limit") return null;
  const violation = {
    quotaMetric: "generativelanguage.googleapis.com/generate_content_free_tier_requests",
    quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
    quotaValue: "100",
  };
  return [
    { "@type": `${google}.QuotaFailure`, violations: [violation] },
    { "@type": `${google}.RetryInfo`, retryDelay: `${planResetS}s` },
  ];
}
