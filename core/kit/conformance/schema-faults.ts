import { Errors } from "@sinclair/typebox/errors";
import type { TSchema } from "@sinclair/typebox";
import type { Finding } from "./report.ts";
import type { Members } from "./seen.ts";

/** What keeps a value from fitting a schema, a few words each. */
export function schemaFaults(schema: TSchema, value: unknown): string[] {
  return [...Errors(schema, value)].slice(0, 3).map(({ path, message }) => `${path || "/"}: ${message}.`);
}

/** What is wrong with what a member gave when it was called. */
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
