import type { Rule } from "../rule.ts";

/** All of its code must become one script. */
export const bundleRule: Rule = {
  id: "bundle",
  title: "Its code bundles to one script.",
  check({ load_error: error }) {
    return error?.code === "bundle_failed" || error?.code === "too_large" ? [{ message: error.message }] : [];
  },
};
