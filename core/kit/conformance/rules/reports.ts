import { reports } from "../../../sessions/session/enforceable.ts";
import type { Rule } from "../rule.ts";
import { allTakes, ordinary } from "../seen.ts";

/** DRIFT: only what is told can be limited. */
export const reportsRule: Rule = {
  id: "reports",
  title: "What the manifest reports is told, and what is told and can be limited is reported.",
  check(seen) {
    const { manifest } = seen;
    const told = ordinary(seen).flatMap(({ events }) => events);
    const all = allTakes(seen).flatMap(({ events }) => events);
    const tokens = told.some((event) =>
      (event.type === "usage" && (event.tokens_in !== null || event.tokens_out !== null)) ||
      (event.type === "completed" && event.tokens_used !== null)
    );
    const cost = told.some((event) => (event.type === "usage" || event.type === "completed") && event.cost !== null);
    const missing = [
      ...(manifest.reports?.includes("tokens") && !tokens ? ["tokens"] : []),
      ...(manifest.reports?.includes("cost") && !cost ? ["cost"] : []),
    ];
    const unsaid = [
      ...(all.some(({ type }) => type === "tool_call") && !reports(manifest, "tool_calls") ? ["tool_calls"] : []),
      ...(all.some(({ type }) => type === "permission_request") && !reports(manifest, "permissions")
        ? ["permissions"]
        : []),
    ];
    return [
      ...missing.map((fact) => ({ message: `DRIFT: the manifest reports ${fact}, and no session told any.` })),
      ...unsaid.map((fact) => ({ message: `DRIFT: a session told ${fact}, and the manifest does not report them.` })),
    ];
  },
};
