import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";

/** Names the required capabilities that the agent does not state; an unstated capability counts as missing. */
export function lackingCapabilities(required: AgentCapabilities, offered: AgentCapabilities): string[] {
  const { max_context_tokens, custom = {}, ...flags } = required;
  const missing = lacking(flags, offered);
  if (max_context_tokens !== undefined && (offered.max_context_tokens ?? 0) < max_context_tokens) {
    missing.push(`max_context_tokens ${max_context_tokens}`);
  }
  return [...missing, ...lacking(custom, offered.custom ?? {}).map((name) => `custom.${name}`)];
}

/** Names the missing fields. A capability that is required to be false is not required. */
function lacking(required: object, offered: object): string[] {
  return Object.keys(required).filter((name) =>
    Reflect.get(required, name) === true && !(Object.hasOwn(offered, name) && Reflect.get(offered, name) === true)
  );
}

/** Combines both requirements. */
export function bothRequired(a: AgentCapabilities, b: AgentCapabilities): AgentCapabilities {
  const context = Math.max(a.max_context_tokens ?? 0, b.max_context_tokens ?? 0);
  return {
    ...union(a, b),
    ...omitUndefined({
      max_context_tokens: context || undefined,
      custom: a.custom || b.custom ? union(a.custom ?? {}, b.custom ?? {}) : undefined,
    }),
  };
}

/** Merges two objects; a flag that either sets to true stays true. */
function union<T extends object>(a: T, b: T): T {
  const truths = Object.entries(a).filter(([, wanted]) => wanted === true);
  return { ...a, ...b, ...Object.fromEntries(truths) };
}
