import { Errors } from "@sinclair/typebox/errors";
import type { TSchema } from "@sinclair/typebox";
import type { Finding } from "./report.ts";
import type { Members } from "./seen.ts";

/** Lists the reasons why a value does not fit a schema, a few words each. */
export function schemaFaults(schema: TSchema, value: unknown): string[] {
  return [...Errors(schema, value)].slice(0, 3).map(({ path, message }) => `${path || "/"}: ${message}.`);
}

/** Finds faults of a member's result. */
export function callFaults(
  member: string,
  { calls, schema, nullable = false }: { calls: Members["calls"]; schema: TSchema; nullable?: boolean },
): Finding[] {
  const returned = calls[member];
  if (returned?.thrown) {
    return [{ message: `${member}() threw ${returned.thrown.name}: ${returned.thrown.message}` }];
  }
  const value = returned?.value;
  if (nullable && value === null) return [];
  return schemaFaults(schema, value).map((fault) => ({ message: `What ${member}() gave does not fit: ${fault}` }));
}
