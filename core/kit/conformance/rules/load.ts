import type { Rule } from "../rule.ts";
import { saidOf } from "../said-of.ts";

const told = new Set(["bundle_failed", "too_large", "adapter_incomplete"]);

/** A script that throws while it is evaluated is useless. */
export const loadRule: Rule = {
  id: "load",
  title: "Its script can be evaluated and its adapter constructed.",
  check({ load_error: error }) {
    return error === null || told.has(error.code) ? [] : [{ message: saidOf(error) }];
  },
};
