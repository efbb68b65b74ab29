import { type AdapterClass, type AgentAdapter, requiredMembers } from "./adapter.ts";

/** Most members that a class may require; the list is a stranger's. */
const mostMembers = 100;

/** An adapter as its class made it, and the names of the members that it lacks. */
export interface MadeAdapter {
  adapter: AgentAdapter;
  missing: string[];
}

/**
 * Makes an adapter and names everything that it lacks: methods that its class should have, and fields that only an
 * object has. Throws what the constructor throws for another reason.
 */
export function makeAdapter(Adapter: AdapterClass): MadeAdapter {
  const { adapter, lacking } = make(Adapter);
  const isMissing = (member: string) => lacking.includes(member) || Reflect.get(adapter, member) === undefined;
  return { adapter, missing: membersOf(Adapter).filter(isMissing) };
}

function make(Adapter: AdapterClass): { adapter: AgentAdapter; lacking: string[] } {
  try {
    return { adapter: new Adapter(), lacking: [] };
  } catch (thrown) {
    const lacking = namesIn(thrown, "missing");
    if (lacking.length === 0) throw thrown;
    return { adapter: makeWithout(Adapter, lacking), lacking };
  }
}

/** Makes the object although its class lacks methods, so that its author reads at once which fields are missing too. */
function makeWithout(Adapter: AdapterClass, lacking: readonly string[]): AgentAdapter {
  const nothing: PropertyDescriptor = { value: undefined, writable: true, configurable: true };
  const prototype = Object.create(Adapter.prototype, Object.fromEntries(lacking.map((name) => [name, nothing])));
  return Reflect.construct(Adapter, [], Object.defineProperty(function () {}, "prototype", { value: prototype }));
}

/** A class of adapters may require more members of its subclasses, in a static list of names. */
function membersOf(Adapter: AdapterClass): string[] {
  return [...new Set([...requiredMembers, ...namesIn(Adapter, "requiredMembers")])];
}

function namesIn(holder: unknown, field: string): string[] {
  const isHolder = (typeof holder === "object" || typeof holder === "function") && holder !== null;
  const list: unknown = isHolder ? Reflect.get(holder, field) : undefined;
  return Array.isArray(list) ? list.slice(0, mostMembers).map(String) : [];
}
