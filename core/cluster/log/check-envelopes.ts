import { type TSchema, Type } from "@sinclair/typebox";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { adapterEventSchemas } from "../../../plugin-sdk/events.ts";
import { hostEventSchemas } from "../../sessions/session/schemas/host-events.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { envelopesAfter } from "../../records/journal/journal-row.ts";
import type { BatchEntry } from "./log-entry.ts";

const id = Type.String({ maxLength: 256 });

/** Everything but the event. Fields that a newer version adds are let through: machines are upgraded one at a time. */
const frame = lazyCheck(Type.Object({
  v: Type.Literal(1),
  seq: Type.Integer({ minimum: 1 }),
  gseq: Type.Integer({ minimum: 1 }),
  ts: Type.String({ pattern: "^\\d{4}-\\d\\d-\\d\\dT[0-9:.]{8,16}Z$" }),
  session_id: id,
  attempt: Type.Integer({ minimum: 0 }),
  adapter: Type.Object({ id, version: id }),
  source: Type.Union([Type.Literal("agent"), Type.Literal("host")]),
  synthetic: Type.Optional(Type.Literal(true)),
  event: Type.Object({ type: Type.String({ minLength: 1, maxLength: 64 }) }),
}));

const ofAdapters = checksOf(adapterEventSchemas);
const ofHost = checksOf(hostEventSchemas);

function checksOf(schemas: Readonly<Record<string, TSchema>>) {
  return new Map(Object.entries(schemas).map(([type, schema]) => [type, lazyCheck(open(schema) as TSchema)]));
}

/** Lets further fields and further words through, on every level. */
function open(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(open);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const { anyOf } = value as { anyOf?: unknown };
  if (Array.isArray(anyOf) && anyOf.every(isWord)) return Type.String();
  const own = Reflect.ownKeys(value).filter((key) =>
    key !== "additionalProperties" || Reflect.get(value, key) !== false
  );
  return Object.fromEntries(own.map((key) => [key, open(Reflect.get(value, key))]));
}

function isWord(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "const" in schema && typeof schema.const === "string";
}

function isEnvelope(value: Envelope): boolean {
  if (!frame().Check(value) || !Number.isFinite(Date.parse(value.ts))) return false;
  // The host says adapters' events too: of a request of its own, and instead of one that was cut short.
  const check = ofHost.get(value.event.type) ?? ofAdapters.get(value.event.type);
  // Types that a newer version adds are let through as well.
  return check === undefined || check().Check(value.event);
}

/** Replaces each invalid envelope with an event that says so, so that no number is missing. */
export function readable(envelope: Envelope): Envelope {
  return isEnvelope(envelope) ? envelope : standIn(envelope);
}

/**
 * Reads the envelopes of an entry that another machine wrote.
 * @throws {Error} for numbers or a session that are not the entry's: it cannot be used at all
 */
export function checkedEnvelopes(
  { body, session_id, first_gseq, last_gseq }: Omit<BatchEntry, "kind">,
): { envelopes: Envelope[]; unreadable: number } {
  const said = envelopesAfter(body, 0);
  const isInOrder = said.every(({ seq, gseq, session_id: own }, at) =>
    Number.isSafeInteger(seq) && Number.isSafeInteger(gseq) && own === session_id &&
    seq > (said[at - 1]?.seq ?? 0) && gseq > (said[at - 1]?.gseq ?? 0)
  );
  if (!isInOrder || said[0]?.gseq !== first_gseq || said.at(-1)?.gseq !== last_gseq) {
    throw new TypeError("its events have other numbers, or another session, than it says");
  }
  const envelopes = said.map(readable);
  return { envelopes, unreadable: envelopes.filter((one, at) => one !== said[at]).length };
}

function standIn({ seq, gseq, session_id, ts, adapter }: Envelope): Envelope {
  const { id: adapterId, version }: Partial<Envelope["adapter"]> = adapter ?? {};
  return {
    v: 1,
    seq,
    gseq,
    ts: typeof ts === "string" && Number.isFinite(Date.parse(ts)) ? new Date(ts).toISOString() : noTime,
    session_id,
    attempt: 1,
    adapter: {
      id: typeof adapterId === "string" ? adapterId.slice(0, 256) : "",
      version: typeof version === "string" ? version.slice(0, 256) : "",
    },
    source: "host",
    synthetic: true,
    event: { type: "progress", message: "This event cannot be read: the machine that wrote it has another version." },
  };
}

/** The same on each machine: copies are compared. */
const noTime = new Date(0).toISOString();
