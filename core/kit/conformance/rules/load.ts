import type { Rule } from "../rule.ts";

const told = new Set(["bundle_failed", "too_large", "adapter_incomplete"]);

/** What throws while it is evaluated serves nobody. */
export const loadRule: Rule = {
  id: "load",
  title: "Its script can be evaluated and its adapter constructed.",
  check({ load_error: error }) {
    return error === null || told.has(error.code) ? [] : [{ message: error.message }];
  },
};
