import type { SchemaDialect } from "bulkhead/plugin-sdk";

/** Keywords to which the API holds a model. */
const held: SchemaDialect = {
  keywords: ["enum", "const", "anyOf", "format"],
  formats: ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
  closed: true,
};

/** The models that came before it. */
const before = /^claude-(instant|2|3|(opus|sonnet)-4-(0|1|2025))/;

/** Returns the part of JSON Schema that holds a model; null for a model that none can hold. */
export function dialectOf(model: string): SchemaDialect | null {
  return before.test(model) ? null : held;
}
