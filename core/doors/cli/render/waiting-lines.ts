import type { WaitingReport } from "../../../../plugin-sdk/plugin-report.ts";
import { safeLine } from "./agent-text.ts";
import { asTyped } from "./as-typed.ts";

/** Describes the permissions of a waiting update in a line, and the command that installs it. */
export function waitingLines(id: string, { version, asks, command }: WaitingReport): string[] {
  const why = asks.length === 0 ? "what it asks for is granted" : `it asks for more: ${asks.join(", ")}`;
  return [safeLine(`${id} ${version} waits; ${why}. To take it:`), `  ${safeLine(asTyped(command))}`];
}
