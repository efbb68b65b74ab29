import type { SchemaDialect } from "bulkhead/plugin-sdk";
import type { Access } from "./access.ts";

/** Keywords to which `strict` holds a model of the API; servers on this machine make a grammar of them. */
const strict: SchemaDialect = {
  keywords: [
    ..."enum const anyOf pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(" "),
    ..."minItems maxItems".split(" "),
  ],
  formats: ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
  closed: true,
  complete: true,
};

/** The models of the API that came before it. */
const before = /^gpt-(3|4$|4-|4o-2024-05)/;

/** Returns the part of JSON Schema that holds a model; null for a model that none can hold. */
export function dialectOf({ type }: Access, model: string): SchemaDialect | null {
  return type === "api" && before.test(model) ? null : strict;
}
