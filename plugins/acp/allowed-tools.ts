import { type AdapterEvent, BulkheadError } from "bulkhead/plugin-sdk";

/**
 * Holds an agent to the tools that a request allows. The host answers what the agent asks; some of its tools never ask, and
 * nothing in the protocol takes them away. So one that was used all the same ends the session.
 */
export class AllowedTools {
  readonly #allowed: readonly string[] | undefined;
  readonly #asked = new Set<string>();

  /** @param allowed Names, in which `*` stands for anything; absent allows all. */
  constructor(allowed: readonly string[] | undefined) {
    this.#allowed = allowed;
  }

  /** @throws {BulkheadError} `permission_denied` for a tool that is not allowed and did its work without asking */
  check(event: AdapterEvent): void {
    if (event.type === "permission_request" && event.call_id !== undefined) this.#asked.add(event.call_id);
    if (event.type !== "tool_result" || !event.success || this.#asked.has(event.call_id)) return;
    if (this.#allowed === undefined || this.#allowed.some((pattern) => fits(event.tool, pattern))) return;
    throw new BulkheadError(
      "permission_denied",
      `The agent used its tool "${event.tool}" without asking, and the request does not allow that tool.`,
      { hint: "Allow it, or choose a mode of the agent in which it asks." },
    );
  }
}

function fits(name: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > name.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
