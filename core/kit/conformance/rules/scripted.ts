import type { Rule } from "../rule.ts";

/** The kit starts no program of this machine, so each must be scripted. */
export const scriptedRule: Rule = {
  id: "scripted",
  title: "conformance.yaml scripts every program that the manifest asks for.",
  check({ unscripted }) {
    return unscripted.map((binary) => ({ message: `conformance.yaml scripts no program "${binary}".` }));
  },
};
