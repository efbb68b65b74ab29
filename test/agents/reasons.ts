import type { Reasons } from "./conformance-table.ts";

const asksNobody = "Without a terminal it asks for nothing: flags and settings decide before it starts what it may do.";
const saysZero = "It says 0 of models whose price it does not know, so its cost is left out.";
const noTools = "It is an endpoint: the model answers once and has no tools.";
const wholeMessages = "It prints a message once it is whole.";
const noProbe = "It has no command that says whether it is logged in.";

const noCost = "It reports tokens and no cost.";
const withoutLogin = "It offers some models without a login.";
const noUsage = "It does not tell what a turn took.";
const lastMessage = "It prints its last message alone.";

/** Why an agent lacks what it lacks. */
export const reasons: Reasons = {
  "claude-code": {},
  "codex": {},
  "gemini-cli": { "auth probe": noProbe, thinking: "Its stream of events has no thinking.", approval: asksNobody },
  "opencode": {
    "auth probe": withoutLogin,
    stream: wholeMessages,
    cost: saysZero,
    approval: asksNobody,
  },
  "acp-claude": {
    "auth probe": "It opens a session without a login, and fails at the first prompt.",
  },
  "acp-gemini": {
    cost: noCost,
    resume: "Of the sessions before it finds some and not others.",
  },
  "acp-codex": { cost: noCost },
  "acp-opencode": { "auth probe": withoutLogin, cost: saysZero },
  "acp-kilo": { "auth probe": withoutLogin, cost: saysZero },
  "acp-qwen": { cost: noCost },
  "acp-copilot": { cost: noCost },
  "acp-kimi": {
    cost: noCost,
    "rate limit": "It keeps its failures from a client of the protocol: a limit is told as unavailable.",
    approval: "It asks before commands, and changes files of a repository without asking.",
  },
  "acp-droid": { stream: wholeMessages, usage: noUsage, cost: noUsage },
  "acp-cline": { files: "It reports only the text of a patch.", usage: noUsage, cost: noUsage },
  "kimi": {
    "auth probe": noProbe,
    stream: wholeMessages,
    thinking: "Its lines have no thinking.",
    usage: noUsage,
    cost: noUsage,
    approval: asksNobody,
  },
  "cn": {
    "auth probe": noProbe,
    stream: wholeMessages,
    thinking: lastMessage,
    tools: lastMessage,
    files: lastMessage,
    usage: noUsage,
    cost: noUsage,
    resume: "It does not tell which session it was.",
    approval: asksNobody,
  },
  "openai-compatible": {
    tools: noTools,
    files: noTools,
    cost: "The price of a model is for the operator to say.",
    resume: noTools,
    approval: noTools,
  },
  "anthropic-api": { tools: noTools, files: noTools, resume: noTools, approval: noTools },
  "pi": {
    "auth probe": noProbe,
    cost: saysZero,
    approval: asksNobody,
  },
  "qwen-code": {
    "auth probe": noProbe,
    cost: noCost,
    approval: asksNobody,
  },
};
