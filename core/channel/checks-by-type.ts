import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";

/** The compiled schema of each type of message or event. */
export interface ChecksByType {
  /** Undefined for a type that is not known. */
  get(type: string): TypeCheck<TSchema> | undefined;
}

/** Compiles each schema when it is first asked for: all at once they would hold up the start of every program. */
export function checksByType(schemas: Readonly<Record<string, TSchema>>): ChecksByType {
  const known = new Map(Object.entries(schemas));
  const compiled = new Map<string, TypeCheck<TSchema>>();
  return {
    get(type) {
      const ready = compiled.get(type);
      if (ready) return ready;
      const schema = known.get(type);
      if (!schema) return undefined;
      const check = TypeCompiler.Compile(schema);
      compiled.set(type, check);
      return check;
    },
  };
}
