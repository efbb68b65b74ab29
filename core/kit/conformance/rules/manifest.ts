import type { Rule } from "../rule.ts";

/** Its faults are reported before any rule runs. */
export const manifestRule: Rule = {
  id: "manifest",
  title: "plugin.yaml and conformance.yaml fit their schemas.",
  check: () => [],
};
