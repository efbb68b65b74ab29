import type { WireDrift } from "../../../plugin-sdk/black-box.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Redactor } from "../../ground/log/redact.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import type { GivenAnswer, Wire, WireAnswer, WireRequest } from "../../walls/agent/wire.ts";
import { cleanBody } from "./clean-body.ts";
import { driftOf } from "./drift.ts";
import { movedAnswer, movesBetween, type PathMoves } from "./moved-answer.ts";
import { type NormalCall, normalCall, type SessionPlaces } from "./normal-request.ts";
import { bytesOf, readCall, readEnd, readHead } from "./record-files.ts";
import type { RecordedBody, RecordEnd, RecordHead } from "./record-format.ts";

/** A record whose calls can be played. */
export interface OpenedRecord {
  folder: string;
  head: RecordHead;
  end: RecordEnd;
  /** In the order in which they were made. */
  calls: readonly IndexedCall[];
}

interface IndexedCall {
  call: number;
  /** Digest of all that must be the same. */
  digest: string;
  isWhole: boolean;
}

interface PlayerOptions {
  /** Paths of this session. */
  places: SessionPlaces;
  /** Bytes of a request. */
  mostSent: number;
  redactor: Redactor | null;
  /** Called once, for the first call that was not recorded. */
  onDrift(drift: WireDrift): void;
}

/**
 * Opens a record to play it.
 * @throws {BulkheadError} `conflict` with the reason, where calls are missing
 */
export async function openRecord(folder: string, sessionId: string): Promise<OpenedRecord> {
  const [head, end] = await Promise.all([readHead(folder), readEnd(folder)]);
  if (head === null) throw unplayable(sessionId, "the beginning of its record is damaged");
  if (end === null) throw unplayable(sessionId, "its record has no end: it still runs, or its host was killed");
  if (end.incomplete !== undefined) throw unplayable(sessionId, `its record is incomplete, since ${end.incomplete}`);
  const calls: IndexedCall[] = [];
  for (let call = 1; call <= end.calls; call++) {
    const normal = await recordedCall(folder, { call, places: head.places });
    if (normal === null) throw unplayable(sessionId, `call ${call} of its record is missing or damaged`);
    calls.push({ call, digest: sha256Hex(normal.text), isWhole: normal.isWhole });
    await nextTurn();
  }
  return { folder, head, end, calls };
}

/** Refuses to replay a session. */
export function unplayable(sessionId: string, why: string): BulkheadError {
  return new BulkheadError("conflict", `Cannot replay session "${sessionId}": ${why}.`, {
    hint: "Record another session: bulkhead run --record-wire ...",
  });
}

async function recordedCall(
  folder: string,
  { call, places }: { call: number; places: SessionPlaces },
): Promise<(NormalCall & { isWhole: boolean }) | null> {
  const recorded = await readCall(folder, call);
  if (recorded === null) return null;
  const { method, path, request, is_whole: isWhole } = recorded;
  const normal = await normalCall({ method, path, body: bytesOf(request) }, places);
  return { ...normal, isWhole };
}

/** Answers the calls of a session's programs from a record, each call of it once, in whatever order they come. */
export class WirePlayer implements Wire {
  readonly #record: OpenedRecord;
  readonly #options: PlayerOptions;
  readonly #left: IndexedCall[];
  readonly #moves: PathMoves | null;
  #made = 0;
  #served = 0;
  #drift: WireDrift | null = null;

  constructor(record: OpenedRecord, options: PlayerOptions) {
    this.#record = record;
    this.#options = options;
    this.#left = [...record.calls];
    this.#moves = movesBetween(record.head.places, options.places);
  }

  /** Calls that were made and answered, and recorded ones that were not made. */
  get counts(): { made: number; served: number; left: number } {
    // A call that was cut off then may end before it is made.
    return { made: this.#made, served: this.#served, left: this.#left.filter(({ isWhole }) => isWhole).length };
  }

  get drift(): WireDrift | null {
    return this.#drift;
  }

  begin(request: WireRequest): WireAnswer {
    const { mostSent } = this.#options;
    return { mostSent, answer: (sent) => this.#answer(request, sent) };
  }

  async #answer({ method, path }: WireRequest, sent: Uint8Array | null): Promise<GivenAnswer> {
    const number = ++this.#made;
    if (this.#drift !== null) throw new BulkheadError("conflict", driftMessage(this.#drift));
    if (sent === null) {
      throw new BulkheadError("too_large", "Cannot answer the call: it is larger than any recorded one.");
    }
    // A recorded body is compared as it was kept: without secrets.
    const { places, redactor } = this.#options;
    const body = bytesOf(await cleanBody(sent, redactor));
    const normal = await normalCall({ method, path: redactor?.text(path) ?? path, body }, places);
    const digest = sha256Hex(normal.text);
    const at = this.#left.findIndex((one) => one.digest === digest);
    if (at < 0) throw await this.#drifted(normal, number);
    const [{ call } = { call: 0 }] = this.#left.splice(at, 1);
    const recorded = await readCall(this.#record.folder, call);
    if (recorded === null) throw new BulkheadError("io_error", `Cannot read call ${call} of the record.`);
    this.#served++;
    const { status, headers, answer, is_whole } = recorded;
    if (status === null) {
      throw new BulkheadError("network_error", "Cannot connect: no answer came when this was recorded.");
    }
    return { status, headers, body: piecesOf(await this.#moved(answer), is_whole) };
  }

  async #moved(answer: RecordedBody): Promise<Uint8Array> {
    return bytesOf("text" in answer ? { text: await movedAnswer(answer.text, this.#moves) } : answer);
  }

  async #drifted(normal: NormalCall, call: number): Promise<BulkheadError> {
    const recorded = await this.#nearest(normal);
    if (this.#drift === null) {
      this.#drift = driftOf(normal, { call, recorded });
      this.#options.onDrift(this.#drift);
    }
    return new BulkheadError("conflict", driftMessage(this.#drift));
  }

  /** The call that is most like another one, of those that were not made. */
  async #nearest(normal: NormalCall): Promise<{ call: number; normal: NormalCall } | null> {
    const { folder, head: { places } } = this.#record;
    let nearest: { call: number; normal: NormalCall; same: number } | null = null;
    for (const { call } of this.#left.slice(0, mostCompared)) {
      const one = await recordedCall(folder, { call, places });
      if (one === null) continue;
      const same = lettersInCommon(one.text, normal.text);
      if (nearest === null || same > nearest.same) nearest = { call, normal: one, same };
    }
    return nearest;
  }
}

/** Calls that a call which was not recorded is compared with. */
const mostCompared = 100;

/** Says how a run went another way than its record. */
export function driftMessage({ call, line, recorded_call, place }: WireDrift): string {
  if (recorded_call === null) return `DRIFT: call ${call} (${line}) is not in the record.`;
  return `DRIFT: call ${call} (${line}) is not in the record. It differs from recorded call ${recorded_call} in ${place}.`;
}

function lettersInCommon(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let before = 0;
  while (before < most && one[before] === other[before]) before++;
  let after = 0;
  while (after < most - before && one.at(-1 - after) === other.at(-1 - after)) after++;
  return before + after;
}

const bytesInAPiece = 16 * 1024;

/** The bytes in pieces; an answer that was cut off then is cut off at the same place. */
async function* piecesOf(bytes: Uint8Array, isWhole: boolean): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < bytes.length; at += bytesInAPiece) {
    yield bytes.subarray(at, at + bytesInAPiece);
    await nextTurn();
  }
  if (!isWhole) throw new BulkheadError("network_error", "The answer ended here when it was recorded.");
}
