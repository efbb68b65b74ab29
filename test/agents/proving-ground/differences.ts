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
const endpoint = "It is an endpoint, not a program, and what breaks the stream is shown as it came.";

/** Every difference that there is; one that is no more fails the test. */
export const differences: readonly Difference[] = [
  ...["claude-code", "acp-claude", "acp-gemini"].flatMap((agent): Difference[] => [
    {
      agent,
      cases: ["write"],
      story: { kinds: "output tool_call permission_request tool_result file_change output completed" },
      because: asks,
    },
    {
      agent,
      cases: ["command"],
      story: { kinds: "output tool_call permission_request tool_result output completed" },
      because: asks,
    },
    {
      agent,
      cases: ["command_endless"],
      story: { kinds: "output tool_call permission_request" },
      because: asks,
    },
  ]),
  ...["codex", "opencode"].flatMap((agent): Difference[] => [
    { agent, cases: ["malformed"], story: { kinds: "error" }, because: wholeMessages },
    { agent, cases: ["endless"], story: { kinds: "" }, because: wholeMessages },
  ]),
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
  ...["gemini-cli", "acp-gemini"].flatMap((agent): Difference[] => [
    { agent, cases: failures, story: { kinds: "output error" }, because: onStderr },
    {
      agent,
      cases: limits,
      story: { kinds: "output rate_limit output rate_limit error" },
      because: onStderr,
    },
  ]),
  {
    agent: "acp-gemini",
    cases: ["denied"],
    story: { kinds: "output tool_call permission_request output completed" },
    because: "It says nothing more of a call that was not permitted; the host gives that call its result.",
  },
  ...["acp-claude", "qwen-code"].flatMap((agent): Difference[] => [
    { agent, cases: ["thinking"], story: { kinds: "output thinking output completed" }, because: onStderrAtFirst },
    { agent, cases: limits, story: { kinds: "output rate_limit error" }, because: onStderrAtFirst },
  ]),
  { agent: "acp-claude", cases: failures, story: { kinds: "output error" }, because: onStderrAtFirst },
  { agent: "qwen-code", cases: failures, story: { kinds: "output error" }, because: onStderrAtFirst },
  ...["openai-compatible", "anthropic-api"].flatMap((agent): Difference[] => [
    {
      agent,
      cases: ["malformed"],
      story: { stop_reason: "fatal", kinds: "output unparsed error" },
      because: endpoint,
    },
  ]),
];
