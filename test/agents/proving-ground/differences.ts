import type { CaseName, Story } from "./cases.ts";

/** Where an agent truly differs from the others, and why. */
export interface Difference {
  agent: string;
  cases: readonly CaseName[];
  story: Partial<Story>;
  because: string;
}

const failures = ["unauthorised", "forbidden", "server_error", "context_overflow"] as const;
const limits = ["rate_limit", "rate_limit_wait", "plan_limit"] as const;
const asks = "It asks before it writes or runs anything, and the host answers.";
const wholeMessages = "It prints a message once it is whole, so of one that breaks off nothing is seen.";
const onStderr = "It writes its failures to standard error as well, and they come from there first.";
const onStderrAtFirst = "It tells on standard error how its session begins.";
const saysFailure = "It says its failure as a message as well.";
const endsTurn = "It ends its turn where it was told no.";
const fails = (agents: readonly string[], because: string): Difference[] =>
  agents.flatMap((agent) => [
    { agent, cases: failures, story: { kinds: "output error" }, because },
    { agent, cases: limits, story: { kinds: "output rate_limit error" }, because },
  ]);
const endpoint = "It is an endpoint, not a program, and what breaks the stream is shown as it came.";

const askers = [
  "claude-code",
  "acp-claude",
  "acp-gemini",
  "acp-opencode",
  "acp-copilot",
  "acp-droid",
  "acp-kilo",
];

/** Every difference that there is; one that is no more fails the test. */
export const differences: readonly Difference[] = [
  ...[...askers, "acp-qwen"].map((agent): Difference => ({
    agent,
    cases: ["write"],
    story: { kinds: "output tool_call permission_request tool_result file_change output completed" },
    because: asks,
  })),
  ...[...askers, "acp-qwen", "acp-cline", "acp-kimi"].map((agent): Difference => ({
    agent,
    cases: ["command"],
    story: { kinds: "output tool_call permission_request tool_result output completed" },
    because: asks,
  })),
  // Qwen asks for no command that only reads.
  ...[...askers, "acp-cline", "acp-kimi"].map((agent): Difference => ({
    agent,
    cases: ["command_endless"],
    story: { kinds: "output tool_call permission_request" },
    because: asks,
  })),
  {
    agent: "claude-code-yaml",
    cases: ["helper"],
    story: { kinds: "output tool_call tool_result output unparsed completed" },
    because: "Rules name no tasks in the background, so the result before the last is one that does not count.",
  },
  { agent: "opencode", cases: ["malformed"], story: { kinds: "error" }, because: wholeMessages },
  { agent: "opencode", cases: ["endless"], story: { kinds: "" }, because: wholeMessages },
  {
    agent: "opencode",
    cases: ["command_endless"],
    story: { kinds: "" },
    because: "It tells a tool call once it is over, and what was said before it comes no earlier.",
  },
  {
    agent: "gemini-cli",
    cases: ["thinking"],
    story: { kinds: "output completed" },
    because: "Its stream of events has no thinking.",
  },
  { agent: "gemini-cli", cases: failures, story: { kinds: "output error" }, because: onStderr },
  {
    agent: "gemini-cli",
    cases: limits,
    story: { kinds: "output rate_limit output rate_limit error" },
    because: onStderr,
  },
  {
    agent: "acp-gemini",
    cases: ["denied", "denied_command"],
    story: { kinds: "output tool_call permission_request output completed" },
    because: "It says nothing more of a call that was not permitted; the host gives that call its result.",
  },
  ...["acp-claude", "qwen-code"].flatMap((agent): Difference[] => [
    { agent, cases: ["thinking"], story: { kinds: "output thinking output completed" }, because: onStderrAtFirst },
    { agent, cases: limits, story: { kinds: "output rate_limit error" }, because: onStderrAtFirst },
  ]),
  { agent: "acp-claude", cases: failures, story: { kinds: "output error" }, because: onStderrAtFirst },
  { agent: "qwen-code", cases: failures, story: { kinds: "output error" }, because: onStderrAtFirst },
  ...fails(["acp-codex", "acp-copilot", "acp-droid"], saysFailure),
  // Since 0.61 it answers as soon as it has written its failure: then the answer alone tells the limit.
  ...fails(["acp-gemini", "acp-opencode", "acp-kilo", "acp-cline", "acp-qwen"], onStderr),
  ...["acp-cline", "acp-qwen"].map((agent): Difference => ({
    agent,
    cases: ["thinking"],
    story: { kinds: "output thinking output completed" },
    because: onStderrAtFirst,
  })),
  ...["acp-opencode", "acp-copilot", "acp-droid", "acp-kilo", "acp-qwen"].map((agent): Difference => ({
    agent,
    cases: ["denied"],
    story: { kinds: "output tool_call permission_request tool_result completed" },
    because: endsTurn,
  })),
  {
    agent: "acp-codex",
    cases: ["denied"],
    story: { stop_reason: "refused", kinds: "output tool_call permission_request error" },
    because: "It ends its turn where it was told no, and says so.",
  },
  { agent: "acp-droid", cases: ["endless"], story: { kinds: "" }, because: wholeMessages },
  {
    agent: "acp-cline",
    cases: ["write"],
    story: { kinds: "output tool_call permission_request tool_result output completed" },
    because: "It asks, and tells of a patch no more than its text.",
  },
  {
    agent: "acp-kimi",
    cases: [...limits, "context_overflow"],
    story: { stop_reason: "unavailable", kinds: "error" },
    because: "It keeps its failures from a client of the protocol: the turn ends without a word.",
  },
  { agent: "kimi", cases: ["thinking"], story: { kinds: "output completed" }, because: "Its lines have no thinking." },
  { agent: "kimi", cases: failures, story: { kinds: "output error" }, because: onStderr },
  { agent: "kimi", cases: limits, story: { kinds: "output rate_limit output error" }, because: onStderr },
  {
    agent: "kimi",
    cases: ["endless", "command_endless"],
    story: { kinds: "" },
    because: "It prints a message, and a call with it, once the next one begins.",
  },
  ...fails(["cn"], onStderr),
  {
    agent: "cn",
    cases: ["thinking", "write", "command"],
    story: { kinds: "output completed" },
    because: "It prints its last message alone.",
  },
  {
    agent: "cn",
    cases: ["endless", "command_endless"],
    story: { kinds: "" },
    because: "It prints its last message alone.",
  },
  ...["openai-compatible", "anthropic-api"].flatMap((agent): Difference[] => [
    {
      agent,
      cases: ["malformed"],
      story: { stop_reason: "fatal", kinds: "output unparsed error" },
      because: endpoint,
    },
  ]),
];
