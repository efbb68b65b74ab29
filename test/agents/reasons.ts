import type { Reasons } from "./conformance-table.ts";

const asksNobody = "Without a terminal it asks for nothing: what it may do is settled before it starts.";
const saysZero = "It says 0 of models whose price it does not know, so its cost is left out.";
const noTools = "It is an endpoint: the model answers once and has no tools.";
const wholeMessages = "It prints a message once it is whole.";
const noProbe = "It has no command that says whether it is logged in.";

/** Why an agent lacks what it lacks. */
export const reasons: Reasons = {
  "claude-code": {},
  "codex": { stream: wholeMessages, approval: asksNobody },
  "gemini-cli": { "auth probe": noProbe, thinking: "Its stream of events has no thinking.", approval: asksNobody },
  "opencode": {
    "auth probe": "It offers some models without a login.",
    stream: wholeMessages,
    cost: saysZero,
    approval: asksNobody,
  },
  "acp-claude": {
    "auth probe": "It opens a session without a login, and fails at the first prompt.",
  },
  "acp-gemini": {
    cost: "It reports tokens and no cost.",
    resume: "Of the sessions before it finds some and not others.",
  },
  "acp-codex": {},
  "acp-opencode": {},
  "acp-qwen": {},
  "acp-copilot": {},
  "acp-kimi": {},
  "acp-droid": {},
  "acp-cline": {},
  "acp-kilo": {},
  "kimi": {},
  "cn": {},
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
    cost: "It reports tokens and no cost.",
    approval: asksNobody,
  },
};
