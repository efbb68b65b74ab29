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
const endpoint = "It is an endpoint, not a program, and what breaks the stream is shown as it came.";

const byRules = "Rules without code cannot make a file change of a tool call, nor tell why a model's server failed.";

/** Every difference that there is; one that is no more fails the test. */
export const differences: readonly Difference[] = [
  {
    agent: "claude-code",
    cases: ["write"],
    story: { kinds: "output tool_call permission_request tool_result file_change output completed" },
    because: asks,
  },
  {
    agent: "claude-code",
    cases: ["command"],
    story: { kinds: "output tool_call permission_request tool_result output completed" },
    because: asks,
  },
  {
    agent: "claude-code",
    cases: ["command_endless"],
    story: { kinds: "output tool_call permission_request" },
    because: asks,
  },
  { agent: "codex", cases: ["malformed"], story: { kinds: "error" }, because: wholeMessages },
  { agent: "codex", cases: ["endless"], story: { kinds: "" }, because: wholeMessages },
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
  ...["openai-compatible", "anthropic-api"].flatMap((agent): Difference[] => [
    {
      agent,
      cases: ["malformed"],
      story: { stop_reason: "fatal", kinds: "output unparsed error" },
      because: endpoint,
    },
  ]),
  ...["pi", "claude-code-yaml"].flatMap((agent): Difference[] => [
    {
      agent,
      cases: ["write"],
      story: { kinds: "output tool_call tool_result output completed" },
      because: byRules,
    },
  ]),
  ...["pi", "claude-code-yaml"].flatMap((agent): Difference[] => [
    { agent, cases: ["unauthorised", "forbidden", "server_error"], story: { stop_reason: "fatal" }, because: byRules },
  ]),
  { agent: "claude-code-yaml", cases: ["malformed"], story: { stop_reason: "fatal" }, because: byRules },
  { agent: "pi", cases: ["malformed"], story: { stop_reason: "fatal" }, because: byRules },
  {
    agent: "claude-code-yaml",
    cases: ["plan_limit"],
    story: { stop_reason: "fatal", kinds: "error" },
    because: byRules,
  },
];
