import { isPacked } from "../../ground/checks/packed-bytes.ts";
import { GrownBytes } from "../../ground/platform/files/grown-bytes.ts";
import { codeOf, writeFault } from "../../ground/errors/write-fault.ts";
import type { Redactor } from "../../ground/log/redact.ts";
import { Sequence } from "../../ground/platform/engine/sequence.ts";
import type { Wire, WireFollower, WireHead, WireRequest } from "../../walls/agent/wire.ts";
import { cleanAnswer, cleanBody } from "./clean-body.ts";
import { withoutKey } from "./normal-request.ts";
import { partOfCall, type WireRecords, writePart } from "./record-files.ts";
import type { KeptCall, RecordEnd, RecordHead } from "./record-format.ts";

/** Bounds of a record. */
interface RecordBounds {
  /** Bytes of one call with its answer. */
  call_bytes: number;
  /** Bytes of all calls of a session. */
  record_bytes: number;
  /** Calls of a session, each of which is a file. */
  calls: number;
}

interface RecorderOptions {
  head: RecordHead;
  bounds: RecordBounds;
  /** Takes secrets out, as out of events. */
  redactor: Redactor | null;
}

/** Bytes of calls that are under way or wait to be written. */
const mostHeld = 32 * 1024 * 1024;

/** Headers of answers that hold a login, or the place of the client. */
const unrecorded = /^(?:set-cookie2?|cf-ray|report-to|nel)$/i;

/**
 * Records the calls of a session's programs to their models. It holds each until it is over, and writes it in turns of its
 * own. Over a bound it records no more, and says so.
 */
export class WireRecorder implements Wire {
  readonly #options: RecorderOptions;
  readonly #begun = performance.now();
  readonly #writes = new Sequence();
  readonly #open = new Set<CallFollower>();
  readonly #records: WireRecords;
  #folder: Promise<string> | null = null;
  #calls = 0;
  #written = 0;
  #bytes = 0;
  #held = 0;
  #incomplete: string | null = null;

  constructor(records: WireRecords, options: RecorderOptions) {
    this.#records = records;
    this.#options = options;
  }

  begin(request: WireRequest): WireFollower | null {
    const { calls } = this.#options.bounds;
    if (isEncoded(request)) this.#giveUp(unseen.request);
    if (this.#calls === calls) this.#giveUp(`it has more than ${calls} calls`);
    if (this.#incomplete !== null) return null;
    const follower = new CallFollower(request, {
      call: ++this.#calls,
      at: performance.now(),
      take: (bytes, all) => this.#take(bytes, all),
      over: (call) => this.#over(call),
    });
    this.#open.add(follower);
    return follower;
  }

  /** Ends the record; returns its end. Never rejects. */
  async end({ turns, tree }: Pick<RecordEnd, "turns" | "tree">): Promise<RecordEnd> {
    for (const call of this.#open) call.ended(false);
    if (this.#calls === 0) this.#giveUp("the host saw no call of a model");
    const endOf = (): RecordEnd => ({
      wire_record: 1,
      calls: this.#written,
      bytes: this.#bytes,
      turns,
      tree,
      ...(this.#incomplete === null ? {} : { incomplete: this.#incomplete }),
    });
    await this.#writes.run(async () => writePart(await this.#begin(), "end", endOf()))
      .catch((error: unknown) => this.#giveUp(refusal(error)));
    return endOf();
  }

  /** Makes the folder with its first file: a session that does not start leaves none. */
  #begin(): Promise<string> {
    return this.#folder ??= this.#records.begin(this.#options.head);
  }

  /** Whether a piece of a call may be held. */
  #take(bytes: number, all: number): boolean {
    const { call_bytes } = this.#options.bounds;
    if (all > call_bytes) this.#giveUp(`a call has more than ${call_bytes} bytes`);
    else if (this.#held + bytes > mostHeld) this.#giveUp("calls came faster than they could be written");
    if (this.#incomplete !== null) return false;
    this.#held += bytes;
    return true;
  }

  #giveUp(reason: string): void {
    this.#incomplete ??= reason;
    for (const call of this.#open) call.drop();
    this.#open.clear();
  }

  #over(call: CallFollower): void {
    if (!this.#open.delete(call)) return;
    void this.#writes.run(() => this.#write(call)).finally(() => this.#held -= call.bytes);
  }

  async #write(call: CallFollower): Promise<void> {
    if (this.#incomplete !== null) return;
    const { redactor, bounds: { record_bytes } } = this.#options;
    try {
      const recorded = await call.recorded(redactor, this.#begun);
      if (typeof recorded === "string") return this.#giveUp(recorded);
      if (this.#bytes + call.bytes > record_bytes) {
        return this.#giveUp(`all calls have more than ${record_bytes} bytes`);
      }
      this.#bytes += await writePart(await this.#begin(), partOfCall(recorded.call), recorded);
      this.#written++;
    } catch (error) {
      this.#giveUp(refusal(error));
    }
  }
}

/** Why a call is not kept. */
const unseen = {
  request: "a request is encoded, so that no secret is seen in it",
  answer: "an answer cannot be read, so that no secret is seen in it",
};

function isEncoded({ headers }: WireRequest): boolean {
  return headers.some(([name, value]) => /^content-encoding$/i.test(name) && !/^(?:identity)?$/i.test(value.trim()));
}

function refusal(error: unknown): string {
  const fault = writeFault(error, "the record");
  return `it could not be written: ${fault?.state ?? (codeOf(error) || "the system refused it")}`;
}

interface FollowerDeps {
  call: number;
  at: number;
  /** Whether a piece may be held; `all` counts the bytes of the call with it. */
  take(bytes: number, all: number): boolean;
  over(call: CallFollower): void;
}

/** Holds one call until it is over. */
class CallFollower implements WireFollower {
  readonly #request: Pick<WireRequest, "method" | "path" | "base">;
  readonly #deps: FollowerDeps;
  readonly #sent = new GrownBytes();
  readonly #received = new GrownBytes();
  #head: WireHead | null = null;
  #isWhole = false;
  #took = 0;
  #isDropped = false;
  /** Of all that is held. */
  bytes = 0;

  constructor({ method, path, base }: WireRequest, deps: FollowerDeps) {
    this.#request = { method, path, base };
    this.#deps = deps;
    this.#mayHold(path.length);
  }

  sent(piece: Uint8Array): void {
    if (this.#mayHold(piece.length)) this.#sent.push(piece);
  }

  unsent(piece: Uint8Array): void {
    this.sent(piece);
  }

  answered({ status, headers }: WireHead): void {
    const kept = headers.filter(([name]) => !unrecorded.test(name));
    if (this.#mayHold(JSON.stringify(kept).length)) this.#head = { status, headers: kept };
  }

  received(piece: Uint8Array): void {
    if (this.#mayHold(piece.length)) this.#received.push(piece);
  }

  ended(isWhole: boolean): void {
    this.#isWhole = isWhole;
    this.#took = performance.now() - this.#deps.at;
    this.#deps.over(this);
  }

  drop(): void {
    this.#isDropped = true;
    this.#sent.clear();
    this.#received.clear();
  }

  /** Returns the call as it is kept, or why it may not be. */
  async recorded(redactor: Redactor | null, begun: number): Promise<KeptCall | string> {
    const clean = (text: string) => redactor?.text(text) ?? text;
    const { method, path, base } = this.#request;
    const { status = null, headers = [] } = this.#head ?? {};
    const request = this.#sent.take();
    if (isPacked(request)) return unseen.request;
    const answer = await cleanAnswer(this.#received.take(), redactor);
    if (answer === null) return unseen.answer;
    return {
      wire_record: 1,
      call: this.#deps.call,
      at_ms: Math.round(this.#deps.at - begun),
      took_ms: Math.round(this.#took),
      method,
      path: clean(withoutKey(path)),
      base: clean(base),
      request: await cleanBody(request, redactor),
      status,
      headers: headers.map(([name, value]) => [name, clean(value)]),
      answer,
      is_whole: this.#isWhole,
    };
  }

  #mayHold(bytes: number): boolean {
    if (this.#isDropped || !this.#deps.take(bytes, this.bytes + bytes)) return false;
    this.bytes += bytes;
    return true;
  }
}
