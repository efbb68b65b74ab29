import type { TSchema } from "@sinclair/typebox";
import type { TypeCheck } from "@sinclair/typebox/compiler";
import { lazyCheck } from "./lazy-check.ts";

/** The compiled schema of each type of message or event. */
interface ChecksByType {
  /** Undefined for a type that is not known. */
  get(type: string): TypeCheck<TSchema> | undefined;
}

/** Compiles each schema when it is first asked for. */
export function checksByType(schemas: Readonly<Record<string, TSchema>>): ChecksByType {
  const checks = new Map(Object.entries(schemas).map(([type, schema]) => [type, lazyCheck(schema)]));
  return { get: (type) => checks.get(type)?.() };
}
