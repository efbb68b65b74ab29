import { type TSchema, Type } from "@sinclair/typebox";
import type { SchemaOf } from "../../../../plugin-sdk/schema.ts";

const nameKey: unique symbol = Symbol("name of a component");

/** Gives a schema a name: the OpenAPI document has it once, among its components, and refers to it. */
export function named<S extends TSchema>(name: string, schema: S): S {
  return { ...schema, [nameKey]: name };
}

/** Returns the name of a schema; undefined for one without. */
export function nameOf(schema: object): string | undefined {
  const name: unknown = Reflect.get(schema, nameKey);
  return typeof name === "string" ? name : undefined;
}

/** Creates a schema that accepts one of several texts. */
export function oneOf<T extends string>(values: readonly T[], description?: string): SchemaOf<T> {
  return Type.Unsafe<T>(Type.Union(values.map((value) => Type.Literal(value)), description ? { description } : {}));
}

/** Creates a schema that also accepts null. */
export function maybe<T>(schema: SchemaOf<T>): SchemaOf<T | null> {
  return Type.Unsafe<T | null>(Type.Union([schema, Type.Null()]));
}

/** Any text. */
export const text: SchemaOf<string> = Type.String();

/** A whole number that counts something. */
export const count: SchemaOf<number> = Type.Integer({ minimum: 0 });
