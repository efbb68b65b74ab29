import type { Static, TSchema } from "@sinclair/typebox";

/** A TypeBox schema whose checked value is `T`. */
export type SchemaOf<T> = TSchema & { static: T };

type Agrees<T, U> = [T] extends [U] ? ([U] extends [T] ? unknown : never) : never;

/**
 * Ties a schema to the interface it stands for: compiling fails when either has what the other lacks.
 *
 * `isolatedDeclarations` asks for written types, so the interface is the text and the schema is held to it.
 */
export function exactly<T>(): <S extends TSchema>(schema: S & Agrees<T, Static<S>>) => SchemaOf<T> {
  return (schema) => schema as unknown as SchemaOf<T>;
}

/** Options for every object schema: an unknown key is an error, never ignored. */
export const closed: { additionalProperties: false } = { additionalProperties: false };
