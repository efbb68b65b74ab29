import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";

/** A schema's check, compiled when it is first asked for: most programs need few of them, and none at their start. */
export function lazyCheck<T extends TSchema>(schema: T): () => TypeCheck<T> {
  let compiled: TypeCheck<T> | null = null;
  return () => compiled ??= TypeCompiler.Compile(schema);
}
