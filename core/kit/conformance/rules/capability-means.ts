import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import type { Rule } from "../rule.ts";

interface Need {
  capability: "multi_file" | "project_context" | "web_search";
  /** Its requirement, in words. */
  means: string;
  has(permissions: Permissions): boolean;
}

const some = (list: readonly unknown[] | undefined) => (list ?? []).length > 0;
const needs: readonly Need[] = [
  {
    capability: "project_context",
    means: "reads the working directory nor starts a program",
    has: ({ run, read }) => some(run) || some(read),
  },
  {
    capability: "multi_file",
    means: "writes files nor starts a program",
    has: ({ run, write }) => some(run) || some(write),
  },
  {
    capability: "web_search",
    means: "reaches a server nor starts a program",
    has: ({ run, net }) => some(run) || some(net),
  },
];

/** DRIFT: a capability that nothing it may do could give. */
export const capabilityMeansRule: Rule = {
  id: "capability-means",
  title: "Declared capabilities are within reach of the declared permissions.",
  check({ manifest, permissions }) {
    return needs.filter(({ capability, has }) => manifest.capabilities[capability] === true && !has(permissions)).map((
      { capability, means },
    ) => ({ message: `DRIFT: the manifest declares ${capability}, and the plugin neither ${means}.` }));
  },
};
