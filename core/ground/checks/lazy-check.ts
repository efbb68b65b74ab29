import type { Static, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";

/** A schema's check, compiled when it is first asked for: most programs need few of them, and none at their start. */
export function lazyCheck<T extends TSchema>(schema: T): () => TypeCheck<T> {
  let compiled: TypeCheck<T> | null = null;
  return () => compiled ??= TypeCompiler.Compile(schema);
}

/** Parses a JSON text that others may have written, or only half; null for one that does not fit. */
export function parseChecked<T extends TSchema>(text: string, check: () => TypeCheck<T>): Static<T> | null {
  try {
    const value: unknown = JSON.parse(text);
    return check().Check(value) ? value : null;
  } catch {
    return null;
  }
}

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
