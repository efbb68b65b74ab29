import { Type } from "@sinclair/typebox";
import { exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import type { TextOrBase64 } from "../../ground/platform/files/text-or-base64.ts";

/** Bytes of a body. */
export type RecordedBody = TextOrBase64;

/** Beginning of a record. */
export interface RecordHead {
  /** Version of the format: files of another one are not read. */
  wire_record: 1;
  session_id: string;
  conversation_id: string;
  /** The first turn of the session in its conversation. */
  turn: number;
  begun_at: string;
  /** The session's request, as far as it says what to do, without values of its environment; absent in records of older hosts. */
  requested?: Record<string, unknown>;
  /** It was brought here without the files from before it: a replay begins with those that are there. */
  is_moved?: boolean;
  /** Paths of the session, by the word that stands for each when calls are compared. */
  places: Record<string, string>;
}

/** One call of a model, and its answer. */
export interface KeptCall {
  wire_record: 1;
  call: number;
  at_ms: number;
  took_ms: number;
  method: string;
  path: string;
  /** Address of the model. */
  base: string;
  request: RecordedBody;
  /** Null where no answer came. */
  status: number | null;
  headers: [name: string, value: string][];
  answer: RecordedBody;
  /** Whether the answer came to its end. */
  is_whole: boolean;
}

/** End of a record. */
export interface RecordEnd {
  wire_record: 1;
  calls: number;
  bytes: number;
  turns: number;
  /** Id of the tree of files after the session; null where none was kept. */
  tree: string | null;
  /** Why calls are missing. */
  incomplete?: string;
}

const version = Type.Literal(1);
const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const body = Type.Unsafe<RecordedBody>(Type.Union([Type.Object({ text }), Type.Object({ base64: text })]));
const field = Type.Unsafe<[string, string]>(Type.Tuple([text, text]));

/** {@link RecordHead}. */
export const headSchema: SchemaOf<RecordHead> = exactly<RecordHead>()(
  Type.Object({
    wire_record: version,
    session_id: text,
    conversation_id: text,
    turn: count,
    begun_at: text,
    requested: Type.Optional(Type.Record(text, Type.Unknown())),
    is_moved: Type.Optional(Type.Boolean()),
    places: Type.Record(text, text),
  }),
);

/** {@link KeptCall}. */
export const callSchema: SchemaOf<KeptCall> = exactly<KeptCall>()(
  Type.Object({
    wire_record: version,
    call: count,
    at_ms: count,
    took_ms: count,
    method: text,
    path: text,
    base: text,
    request: body,
    status: Type.Union([count, Type.Null()]),
    headers: Type.Array(field),
    answer: body,
    is_whole: Type.Boolean(),
  }),
);

/** {@link RecordEnd}. */
export const endSchema: SchemaOf<RecordEnd> = exactly<RecordEnd>()(
  Type.Object({
    wire_record: version,
    calls: count,
    bytes: count,
    turns: count,
    tree: Type.Union([text, Type.Null()]),
    incomplete: Type.Optional(text),
  }),
);
