import { type TSchema, Type } from "@sinclair/typebox";
import { errorCodes } from "../../../plugin-sdk/errors.ts";
import { closed } from "../../../plugin-sdk/schema.ts";
import { type GuestMessage, maxIdentityText, type WardenReport } from "./protocol.ts";

const number = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const ownText = Type.String({ maxLength: maxIdentityText });

const error = Type.Object({
  code: Type.Union(Object.keys(errorCodes).map((code) => Type.Literal(code))),
  message: Type.String({ maxLength: 65_536 }),
  hint: Type.Optional(Type.String({ maxLength: 8192 })),
  details: Type.Optional(Type.Record(Type.String({ maxLength: 128 }), Type.Unknown())),
}, closed);

/** Schemas of a guest's messages, by type. `part` is resolved before. */
export const guestMessageSchemas: { readonly [T in Exclude<GuestMessage["type"], "part">]: TSchema } = {
  loaded: Type.Object({
    type: Type.Literal("loaded"),
    protocol: number,
    identity: Type.Optional(Type.Object({
      id: Type.Optional(ownText),
      name: Type.Optional(ownText),
      version: Type.Optional(ownText),
    }, closed)),
    error: Type.Optional(error),
  }, closed),
  // Events are checked one by one, so that one bad event does not cost the batch.
  events: Type.Object({ type: Type.Literal("events"), sid: number, events: Type.Array(Type.Unknown()) }, closed),
  call: Type.Object({
    type: Type.Literal("call"),
    sid: number,
    id: number,
    op: Type.String({ maxLength: 64 }),
    args: Type.Unknown(),
  }, closed),
  done: Type.Object({
    type: Type.Literal("done"),
    sid: number,
    value: Type.Optional(Type.Unknown()),
    error: Type.Optional(error),
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  }, closed),
  pong: Type.Object({ type: Type.Literal("pong"), n: number }, closed),
  failed: Type.Object({ type: Type.Literal("failed"), error }, closed),
};

/** Schemas of a warden's reports on lane 0, by type. */
export const wardenReportSchemas: { readonly [T in WardenReport["type"]]: TSchema } = {
  ready: Type.Object({ type: Type.Literal("ready"), protocol: number }, closed),
  lane_closed: Type.Object({
    type: Type.Literal("lane_closed"),
    lane: number,
    reason: Type.Union(["exit", "out_of_memory", "error", "closed"].map((reason) => Type.Literal(reason))),
    message: Type.String({ maxLength: 65_536 }),
  }, closed),
  stats: Type.Object({ type: Type.Literal("stats"), rss_bytes: Type.Number(), cpu_ms: Type.Number() }, closed),
};
