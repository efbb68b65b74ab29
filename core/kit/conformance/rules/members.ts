import type { Rule } from "../rule.ts";

/** An adapter that lacks a member fails at load. */
export const membersRule: Rule = {
  id: "members",
  title: "The adapter has every member that an adapter must have, each of the right kind.",
  check({ load_error: error, members }) {
    if (error?.code === "adapter_incomplete") return [{ message: error.message }];
    return Object.entries(members?.types ?? {}).flatMap(([name, type]) => {
      const wanted = kinds[name] ?? "function";
      return type === wanted ? [] : [{ message: `The member "${name}" is ${type}, expected ${wanted}.` }];
    });
  },
};

const kinds: Readonly<Record<string, string>> = {
  id: "string",
  name: "string",
  version: "string",
  capabilities: "object",
  accessModes: "object",
};
