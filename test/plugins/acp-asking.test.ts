import { describe, expect, test } from "vitest";
import { askingMode, namedTools, saysApproval } from "../../plugins/acp/asking.ts";
import { knownAgents } from "../../plugins/acp/agents.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";

type Asked = Partial<SessionRequest>;

function modes(...ids: string[]) {
  return { modes: { currentModeId: ids[0], availableModes: ids.map((id) => ({ id, name: id })) } };
}

function options(...ids: string[]) {
  const values = ids.map((value) => ({ value, name: value }));
  return {
    configOptions: [{ id: "m", category: "mode", currentValue: ids[0], options: [{ group: "g", options: values }] }],
  };
}

function choose(session: object, asked: Asked, { named, known }: { named?: string; known?: string } = {}) {
  const request: SessionRequest = { workdir: "/w", prompt: "", ...asked };
  return askingMode({ session: session as Record<string, unknown>, request, named, known });
}

const ask: Asked = { approval: "ask" };
const claude = ["auto", "default", "acceptEdits", "plan", "bypassPermissions"];
const address = "https://agentclientprotocol.com/protocol/session-modes#";

describe("askingMode", () => {
  const cases: [string, object, Asked, string | undefined, { named?: string; known?: string }?][] = [
    ["auto gives way to default", modes(...claude), ask, "default"],
    ["in every approval but all", modes(...claude), { approval: "edits" }, "default"],
    ["for a rule that denies", modes(...claude), { tool_approvals: { Bash: "deny" } }, "default"],
    ["for a list of tools", modes(...claude), { allowed_tools: [] }, "default"],
    ["and where nothing was said, as a model would decide", modes(...claude), {}, "default"],
    ["not where all is allowed", modes(...claude), { approval: "all" }, undefined],
    ["one that the user's settings chose stays where nothing was said", modes("yolo", "default"), {}, undefined],
    ["and gives way where something was", modes("yolo", "default"), ask, "default"],
    ["as an option of the session", options("yolo", "default"), ask, "default"],
    ["one that asks stays", modes("default", "ask"), ask, undefined],
    ["one that changes nothing stays", modes("plan", "default"), ask, undefined],
    ["one of a known agent comes first", modes("agent", "default", "read-only"), ask, "read-only", {
      known: "read-only",
    }],
    ["kilo's ask refuses all work, so code it is", modes("debug", "ask", "code"), ask, "code", {
      known: knownAgents.get("kilo")!.asking!.mode!,
    }],
    ["unless it is not offered", modes("agent", "ask"), ask, "ask", { known: "read-only" }],
    ["one of an unknown name stays where none asks", modes("code", "build"), ask, undefined],
    ["a name in any case", modes("Auto-Edit", "Manual"), ask, "Manual"],
    ["a name at the end of an address", modes(`${address}autopilot`, `${address}default`), ask, `${address}default`],
    ["an agent without modes is left alone", {}, ask, undefined],
    ["one that was named is taken", modes(...claude), ask, "plan", { named: "plan" }],
    ["also one that edits unasked, where edits are approved", modes(...claude), { approval: "edits" }, "acceptEdits", {
      named: "acceptEdits",
    }],
    ["and any where nothing was said", modes(...claude), {}, "bypassPermissions", { named: "bypassPermissions" }],
    ["or with best effort", modes("yolo"), { ...ask, best_effort: true }, undefined],
  ];
  test.each(cases)("%s", (_, session, asked, mode, about) => {
    expect(choose(session, asked, about)).toBe(mode);
  });

  test.each([
    ["yolo", undefined],
    ["agent-full-access", undefined],
    ["bypassPermissions", "bypassPermissions"],
    ["acceptEdits", "acceptEdits"],
  ])("refuses the mode %s", (mode, named) => {
    expect(() => choose(modes(mode), { approval: "reads" }, named === undefined ? {} : { named })).toThrow(
      expect.objectContaining({ code: "unenforceable", message: expect.stringContaining(`"${mode}"`) }),
    );
  });
});

test("a known agent's opening names the tools that rules of the request name", () => {
  const request: SessionRequest = {
    workdir: "/w",
    prompt: "",
    tool_approvals: { Read: "ask", "*": "deny", Bash: "allow" },
  };
  expect(saysApproval(request)).toBe(true);
  expect(saysApproval({ ...request, tool_approvals: { "*": "allow" } })).toBe(false);
  expect(knownAgents.get("claude")?.asking?.meta?.(namedTools(request))).toEqual({
    claudeCode: { options: { settings: { permissions: { ask: ["Bash", "Edit", "Write", "NotebookEdit", "Read"] } } } },
  });
});
