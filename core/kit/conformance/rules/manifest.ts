import type { Rule } from "../rule.ts";

/** What is wrong with it is told before any rule is asked. */
export const manifestRule: Rule = {
  id: "manifest",
  title: "plugin.yaml and conformance.yaml fit their schemas.",
  check: () => [],
};
