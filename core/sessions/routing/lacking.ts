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

/**
 * Takes from stated capabilities what the adapter itself says is not there: a flag that is false, a smaller context. What it
 * adds does not count: the manifest is what an operator has reviewed.
 */
export function narrowCapabilities(stated: AgentCapabilities, said: AgentCapabilities = {}): AgentCapabilities {
  const { max_context_tokens: room, custom } = stated;
  return {
    ...withoutDenied(stated, said),
    ...(room === undefined ? {} : { max_context_tokens: Math.min(room, said.max_context_tokens ?? room) }),
    ...(custom === undefined ? {} : { custom: withoutDenied(custom, said.custom ?? {}) }),
  };
}

function withoutDenied<T extends object>(stated: T, said: object): T {
  const denied = Object.keys(stated).filter((name) => Object.hasOwn(said, name) && Reflect.get(said, name) === false);
  return { ...stated, ...Object.fromEntries(denied.map((name) => [name, false])) };
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
