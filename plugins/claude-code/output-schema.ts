import type { SchemaDialect } from "bulkhead/plugin-sdk";

/** Tool by which the program has its model give the data; it is no work. */
export const answerTool = "StructuredOutput";

/** Keywords that the program checks. A schema with any other one is left out, and the program says nothing. */
export const checked: SchemaDialect = {
  keywords: [
    ..."enum const anyOf oneOf allOf not $ref $defs definitions nullable format pattern minLength maxLength".split(" "),
    ..."minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems contains".split(" "),
    ..."additionalProperties patternProperties propertyNames minProperties maxProperties".split(" "),
  ],
  formats: ["date-time", "date", "time", "email", "uri", "uuid", "ipv4", "ipv6", "hostname"],
};
