import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import type { DeletedBy } from "../../records/journal/session-record.ts";
import type { OutgoingMessage, StreamMessage } from "../engine/messages.ts";
import type { Names } from "../engine/names.ts";

/** Events of one session, as a journal stores them. */
export interface BatchEntry {
  kind: "batch";
  session_id: string;
  first_gseq: number;
  last_gseq: number;
  /** The envelopes as the text of a journal's row. */
  body: string;
}

/** The end of a session's events. */
interface DeleteEntry {
  kind: "delete";
  session_id: string;
  by: DeletedBy;
}

/** The begin of a term: from here on, only this writer's entries count. */
interface MarkEntry {
  kind: "mark";
  /** The machine that writes from now on: the stream's own, or the one that took it over. */
  machine: string;
}

type MachineEntry = BatchEntry | DeleteEntry | MarkEntry;

/** An entry that can be written within a term. */
export type TermEntry = BatchEntry | DeleteEntry;

/** How far a machine's log was read. */
export interface LogPosition {
  /** Number of the last message. */
  seq: number;
  /** Id of the present term's writer; empty before the first mark. */
  writer: string;
  /** Machine of that writer; empty before the first mark. */
  machine: string;
  /** Number of the message that began the term. */
  term: number;
  /** Highest `gseq` of its batches. */
  gseq: number;
}

/** The position before a log's first message. */
export const logStart: LogPosition = { seq: 0, writer: "", machine: "", term: 0, gseq: 0 };

const header = {
  kind: "Bulkhead-Kind",
  writer: "Bulkhead-Writer",
  machine: "Bulkhead-Machine",
  term: "Bulkhead-Term",
  number: "Bulkhead-Number",
  part: "Bulkhead-Part",
  events: "Bulkhead-Events",
  by: "Bulkhead-By",
  session: "Bulkhead-Session",
} as const;

/** Identity of a message in its log: what stands in the stream is compared with it after an unknown outcome. */
interface MessageId {
  writer: string;
  term: number;
  /** Counts the writer's messages. */
  number: number;
}

/** Most parts of one entry, and most bytes of them all: as many as a session's events may have. */
const maxParts = 4096;
const maxPartsBytes = 256 * 1024 * 1024;

/** Makes the message that begins a term. */
export function markMessage(
  subject: string,
  { writer, machine }: { writer: string; machine: string },
): OutgoingMessage {
  return { subject, headers: { [header.kind]: "mark", [header.writer]: writer, [header.machine]: machine }, data: "" };
}

/** Makes the messages of an entry, without their identity: one, or several where it is larger than a message may be. */
export function partsOf(
  entry: TermEntry,
  { names, machine, bytes }: { names: Names; machine: string; bytes: number },
): OutgoingMessage[] {
  if (entry.kind === "delete") {
    const { session_id, by } = entry;
    // Beside the session's own messages, which go: a late reader must still learn of it.
    const headers = { [header.kind]: "delete", [header.session]: session_id, [header.by]: by };
    return [{ subject: names.marks(machine), headers, data: "" }];
  }
  const subject = names.session(machine, entry.session_id);
  const headers = { [header.kind]: "batch", [header.events]: `${entry.first_gseq}-${entry.last_gseq}` };
  // A character takes at most three bytes.
  if (entry.body.length * 3 <= bytes) return [{ subject, headers, data: entry.body }];
  const body = new TextEncoder().encode(entry.body);
  const count = Math.ceil(body.byteLength / bytes);
  return Array.from({ length: count }, (_, at) => ({
    subject,
    headers: { ...headers, [header.part]: `${at + 1}/${count}` },
    data: body.subarray(at * bytes, (at + 1) * bytes),
  }));
}

/** Returns the number of an entry's last event; null for one without events. */
export function gseqOf(entry: TermEntry): number | null {
  return entry.kind === "batch" ? entry.last_gseq : null;
}

/** Returns the writer of a mark. */
export function writerOf({ headers }: StreamMessage): string | undefined {
  return headers[header.writer];
}

/** Adds its identity to a message. */
export function signed(
  { subject, headers, data }: OutgoingMessage,
  { writer, term, number }: MessageId,
): OutgoingMessage {
  const own = { [header.writer]: writer, [header.term]: String(term), [header.number]: String(number) };
  return { subject, headers: { ...headers, ...own }, data };
}

/** Returns the identity of a stored message; null for a mark and for what no machine wrote. */
export function idOf({ headers }: StreamMessage): MessageId | null {
  const [writer, term, number] = [header.writer, header.term, header.number].map((name) => headers[name]);
  if (writer === undefined || term === undefined || number === undefined) return null;
  return { writer, term: Number(term), number: Number(number) };
}

/**
 * Reads a machine's log, message by message. Of two writers that race, the stream's compare-and-set refuses the first
 * late message of the loser, but may take a later one whose expected number the winner's mark has made true: messages of
 * an earlier term are therefore dropped here, by every reader alike.
 */
export class LogReader {
  #position: LogPosition;
  #parts: { of: string; texts: Uint8Array[]; bytes: number } | null = null;
  /** Messages that were dropped. */
  dropped = 0;

  constructor(position: LogPosition = logStart) {
    this.#position = position;
  }

  get position(): LogPosition {
    return this.#position;
  }

  /** Goes on past a message of the present term that this machine wrote itself. */
  pass({ seq, gseq }: { seq: number; gseq: number | null }): void {
    this.#position = { ...this.#position, seq, gseq: gseq ?? this.#position.gseq };
  }

  /** Takes the next message; returns the entry that it completes, or null. */
  take(message: StreamMessage): MachineEntry | null {
    const { seq, headers } = message;
    this.#position = { ...this.#position, seq };
    const kind = headers[header.kind];
    if (kind === "mark") return this.#mark(message);
    const { writer, term } = this.#position;
    const id = idOf(message);
    if (id === null || id.writer !== writer || id.term !== term) return this.#drop();
    if (kind === "delete") {
      const by = headers[header.by] === "retention" ? "retention" : "client";
      return { kind, session_id: headers[header.session] ?? "", by };
    }
    return kind === "batch" ? this.#batch(message) : this.#drop();
  }

  #mark({ seq, headers }: StreamMessage): MarkEntry {
    const machine = headers[header.machine] ?? "";
    this.#position = { ...this.#position, writer: headers[header.writer] ?? "", machine, term: seq };
    this.#parts = null;
    return { kind: "mark", machine };
  }

  #batch(message: StreamMessage): BatchEntry | null {
    const [, first, last] = /^(\d+)-(\d+)$/.exec(message.headers[header.events] ?? "") ?? [];
    const [first_gseq, last_gseq] = [Number(first), Number(last)];
    // Of a batch that was offered twice the first one counts.
    if (!(first_gseq > this.#position.gseq) || !(last_gseq >= first_gseq)) return this.#drop();
    const data = this.#joined(message);
    if (data === null) return null;
    this.#position = { ...this.#position, gseq: last_gseq };
    return {
      kind: "batch",
      session_id: message.subject.slice(message.subject.lastIndexOf(".") + 1),
      first_gseq,
      last_gseq,
      body: new TextDecoder().decode(data),
    };
  }

  /** Returns the whole of an entry's data once its last part is there; null before. */
  #joined({ headers, data, subject }: StreamMessage): Uint8Array | null {
    const part = headers[header.part];
    if (part === undefined) return data;
    const [, number, count] = /^(\d+)\/(\d+)$/.exec(part) ?? [];
    const of = `${subject} ${headers[header.events]} ${count}`;
    if (Number(number) === 1 && Number(count) <= maxParts) this.#parts = { of, texts: [], bytes: 0 };
    if (this.#parts?.of !== of || this.#parts.texts.length !== Number(number) - 1) return this.#drop();
    this.#parts.bytes += data.byteLength;
    if (this.#parts.bytes > maxPartsBytes) {
      this.#parts = null;
      return this.#drop();
    }
    this.#parts.texts.push(data.slice());
    if (this.#parts.texts.length < Number(count)) return null;
    const { texts } = this.#parts;
    this.#parts = null;
    return joinBytes(texts);
  }

  #drop(): null {
    this.dropped++;
    return null;
  }
}
