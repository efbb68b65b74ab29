import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ApprovalRules, policyAnswer } from "../../../core/sessions/session/approval-policy.ts";
import type { PermissionOption, PermissionRequestEvent } from "../../../plugin-sdk/events.ts";
import type { Approval } from "../../../plugin-sdk/request.ts";
import { type ToolKind, toolKinds } from "../../../plugin-sdk/tool-kinds.ts";

const kinds = ["allow_once", "allow_always", "reject_once", "reject_always"] as const;

function asked(offered: readonly PermissionOption["kind"][] = kinds, tool = "t"): PermissionRequestEvent {
  const options = offered.map((kind) => ({ id: kind, label: kind, kind }));
  return { type: "permission_request", request_id: "r", tool, title: "May I?", options };
}

describe("policyAnswer", () => {
  test.each(
    [
      ["all", kinds, "allow_once"],
      ["all", ["allow_always", "reject_once"], "allow_always"],
      ["all", ["reject_once"], null],
      ["deny", kinds, "reject_once"],
      ["deny", ["allow_once", "reject_always"], "reject_always"],
      ["deny", ["allow_once"], null],
      ["ask", kinds, null],
    ] as const,
  )("approval %s of the options %s is %s", (approval, offered, answer) => {
    expect(policyAnswer(asked(offered), { approval }, "read")).toBe(answer);
  });

  test.each(
    [
      ["reads", ["read", "search", "think", "fetch"]],
      ["edits", ["read", "search", "think", "fetch", "edit", "delete", "move"]],
    ] as const,
  )("approval %s allows the kinds %s and asks for all others", (approval, allowed) => {
    const answers = toolKinds.filter((kind) => policyAnswer(asked(), { approval }, kind) === "allow_once");
    expect(answers.toSorted()).toEqual([...allowed].sort());
    expect(policyAnswer(asked(), { approval }, null)).toBeNull();
  });

  test.each<[string, Omit<ApprovalRules, "approval">, string | null]>([
    ["a listed tool is allowed", { allowed_tools: ["t"] }, "allow_once"],
    ["one that is not listed is not", { allowed_tools: ["u"] }, "reject_once"],
    ["an empty list allows none", { allowed_tools: [] }, "reject_once"],
    ["a rule comes first", { tool_approvals: { t: "deny" }, allowed_tools: ["t"] }, "reject_once"],
    ["no rule widens the list", { tool_approvals: { "*": "allow" }, allowed_tools: ["u"] }, "reject_once"],
    ["the first rule that fits counts", { tool_approvals: { "t*": "ask", t: "deny" } }, null],
    ["a rule for others says nothing", { tool_approvals: { tt: "deny" } }, null],
    ["a rule may ask for a listed one", { tool_approvals: { t: "ask" }, allowed_tools: ["t"] }, null],
  ])("%s", (_, rules, answer) => {
    expect(policyAnswer(asked(), { approval: "ask", ...rules }, null)).toBe(answer);
  });

  test("deny is never widened, and what is not in the list is never allowed", () => {
    const approval = fc.constantFrom<Approval>("ask", "reads", "edits", "all", "deny");
    const rule = fc.constantFrom("allow" as const, "ask" as const, "deny" as const);
    const names = fc.constantFrom("t", "u", "*", "t*", "*t");
    fc.assert(fc.property(
      approval,
      fc.dictionary(names, rule),
      fc.option(fc.array(names), { nil: undefined }),
      fc.option(fc.constantFrom<ToolKind>(...toolKinds), { nil: null }),
      (approval, tool_approvals, allowed_tools, kind) => {
        const rules = { approval, tool_approvals, ...(allowed_tools ? { allowed_tools } : {}) };
        const allowed = policyAnswer(asked(), rules, kind) === "allow_once";
        if (approval === "deny") expect(allowed).toBe(false);
        if (allowed_tools && !allowed_tools.some((name) => name !== "u")) expect(allowed).toBe(false);
      },
    ));
  });

  test("a pattern's stars stand for anything, as a regular expression would say", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "."), maxLength: 8 });
    fc.assert(fc.property(text, fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 }), (pattern, tool) => {
      const escaped = pattern.split("*").map((part) => part.replaceAll(".", "\\.")).join(".*");
      const fits = new RegExp(`^${escaped}$`).test(tool);
      const answer = policyAnswer(
        asked(kinds, tool),
        { approval: "ask", tool_approvals: { [pattern]: "allow" } },
        null,
      );
      expect(answer === "allow_once").toBe(fits);
    }));
  });
});
