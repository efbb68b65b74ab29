import { type TSchema, Type } from "@sinclair/typebox";
import type { Envelope, HostEvent } from "../../../../plugin-sdk/envelope.ts";
import { type AdapterEvent, adapterEventSchemas } from "../../../../plugin-sdk/events.ts";
import { exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { count, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";
import { hostEventSchemas } from "../../../sessions/session/schemas/host-events.ts";

const eventSchema: SchemaOf<AdapterEvent | HostEvent> = named(
  "Event",
  Type.Unsafe<AdapterEvent | HostEvent>(Type.Union(
    Object.entries<TSchema>({ ...adapterEventSchemas, ...hostEventSchemas }).map(([type, schema]) =>
      named(componentName(type), schema)
    ),
    { discriminator: { propertyName: "type" } },
  )),
);

/** {@link Envelope}: one event of a session as clients see it. */
export const envelopeSchema: SchemaOf<Envelope> = named(
  "Envelope",
  exactly<Envelope>()(Type.Object({
    v: Type.Literal(1),
    seq: Type.Integer({ minimum: 1 }),
    gseq: Type.Integer({ minimum: 1 }),
    ts: text,
    session_id: text,
    attempt: count,
    adapter: Type.Object({ id: text, version: text }),
    source: oneOf(["agent", "host"] as const),
    synthetic: Type.Optional(Type.Literal(true)),
    machine: Type.Optional(text),
    cursor: Type.Optional(text),
    event: eventSchema,
  })),
);

/** `tool_call` is `ToolCallEvent`. */
function componentName(type: string): string {
  return `${type.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")}Event`;
}
