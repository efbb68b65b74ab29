import { Type } from "@sinclair/typebox";
import { exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import type { ListedFacts } from "../../../../plugin-sdk/session-summary.ts";
import { count, maybe, named, text } from "./named.ts";

/** {@link ListedFacts}. */
export const listedFactsSchema: SchemaOf<ListedFacts> = named(
  "ListedFacts",
  exactly<ListedFacts>()(Type.Object({
    model: Type.Optional(text),
    queued: Type.Optional(Type.Object({
      adapter_id: text,
      position: count,
      since: text,
      retry_at: Type.Optional(text),
      reason: Type.Optional(text),
    })),
    step: maybe(Type.Object({ text, since: text, is_open: Type.Boolean() })),
    last_event_at: maybe(text),
    beats: Type.Array(count, { description: "events of each of the last half minutes, the newest last" }),
    plan: maybe(Type.Object({ done: count, total: count })),
    cost: maybe(Type.Number()),
    currency: maybe(text),
    lines: maybe(Type.Object({ added: count, removed: count })),
  })),
);
