import { KindGuard, type TProperties, type TSchema } from "@sinclair/typebox";

/**
 * Returns the properties of an object's schema.
 * @throws {TypeError} for the schema of anything else
 */
export function propertiesOf(schema: TSchema): TProperties {
  if (KindGuard.IsObject(schema)) return schema.properties;
  throw new TypeError("The schema is not an object's.");
}
