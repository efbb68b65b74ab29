import type { PermissionRequestEvent, QuestionEvent } from "../../../plugin-sdk/events.ts";
import type { Limits } from "../../ground/config/limits.ts";

/** Limits on the requests that wait for an answer at the same time. */
type RequestLimits = Pick<Limits, "open_requests" | "open_request_bytes">;

/** One use of an adapter's id. */
interface Use {
  /** The host's name for it, unique in the session. */
  streamId: string;
  bytes: number;
  callId: string | undefined;
  /** The adapter has asked for its answer. */
  isAsked: boolean;
  /** `ended` by the agent itself, which waits for no answer then. */
  state: "open" | "ended" | "resolved";
}

/**
 * The permission requests and questions of one session. Each gets a name of the host's own: an agent may use its id again
 * once the request before is over. The answer to an id is always the newest request's, and none where the host refused
 * that one, so an older answer never serves a newer request.
 */
export class RequestUses {
  readonly #open = new Map<string, Use>();
  readonly #used = new Set<string>();
  /** Each id's last accepted use in this attempt, and whether the host refused a later one. */
  readonly #newest = new Map<string, { use: Use; isRefused: boolean }>();
  readonly #ended: string[] = [];
  #bytes = 0;
  #renamed = 0;

  /**
   * Takes a request.
   * @param options.streamId the adapter's id as the stream shows it, if nothing else has that name
   * @param options.isReplayed it comes from the log, where names are final
   * @returns the request's name in the stream, or why it is refused
   */
  begin(
    event: PermissionRequestEvent | QuestionEvent,
    { streamId, limits, isReplayed }: { streamId: string; limits: RequestLimits | undefined; isReplayed: boolean },
  ): { streamId: string } | { problem: string } {
    const { request_id, call_id } = event;
    const before = this.#newest.get(request_id);
    const bytes = limits === undefined ? 0 : encoder.encode(JSON.stringify(event)).byteLength;
    const options = event.type === "question" ? [] : event.options.map(({ id }) => id);
    const isKnown = isReplayed && this.#used.has(streamId);
    const problem = isKnown
      ? "its request_id was used before"
      : new Set(options).size < options.length
      ? "two of its options have one id"
      : this.#conflict(before?.use) ?? this.#overLimit(bytes, limits);
    if (problem !== null) {
      if (before !== undefined) before.isRefused = true;
      return { problem };
    }
    const use: Use = { streamId: this.#name(streamId), bytes, callId: call_id, isAsked: false, state: "open" };
    this.#bytes += bytes;
    this.#used.add(use.streamId);
    this.#open.set(use.streamId, use);
    this.#newest.set(request_id, { use, isRefused: false });
    return { streamId: use.streamId };
  }

  /** Ends the newest request of an adapter's id; returns its name in the stream, null for an id that never was one. */
  withdraw(requestId: string): string | null {
    const use = this.#newest.get(requestId)?.use;
    if (use === undefined) return null;
    this.#end(use);
    return use.streamId;
  }

  /** Ends the requests of a tool call that is over. */
  endOf(callId: string): void {
    for (const use of this.#open.values()) if (use.callId === callId) this.#end(use);
  }

  /** Returns true for a request that {@link takeEnded} will give. */
  hasEnded(streamId: string): boolean {
    return this.#ended.includes(streamId);
  }

  /** Returns the requests that events of the agent have ended since the last time. */
  takeEnded(): string[] {
    return this.#ended.splice(0);
  }

  /** Marks a request as resolved; false when it was not open. */
  resolve(streamId: string): boolean {
    const use = this.#open.get(streamId);
    if (use === undefined) return false;
    if (use.state === "open") use.state = "resolved";
    this.#bytes -= use.bytes;
    this.#open.delete(streamId);
    return true;
  }

  /** Returns the request whose answer belongs to an adapter's id; null for none, and for a refused one. */
  answeredBy(requestId: string): string | null {
    const newest = this.#newest.get(requestId);
    if (newest === undefined) return null;
    newest.use.isAsked = true;
    return newest.isRefused ? null : newest.use.streamId;
  }

  /** Closes all open requests, and returns them. */
  finish(): string[] {
    const open = [...this.#open.keys()];
    for (const streamId of open) this.resolve(streamId);
    this.#ended.length = 0;
    return open;
  }

  /** Begins another attempt, whose adapter knows no earlier id. */
  restart(): void {
    this.#newest.clear();
  }

  /** Returns why an id cannot be used again yet: nothing could tell to which of its two requests an answer belongs. */
  #conflict(before: Use | undefined): string | null {
    if (before?.state === "open") {
      if (!before.isAsked) this.#end(before);
      return "another request with its request_id is open";
    }
    if (before?.state !== "resolved" || before.isAsked) return null;
    return "its request_id is that of a request whose answer the adapter has not asked for";
  }

  #overLimit(bytes: number, { open_requests, open_request_bytes }: RequestLimits = unlimited): string | null {
    if (this.#used.size >= mostRequests) return `more than ${mostRequests} requests`;
    if (this.#open.size >= open_requests) return `${open_requests} requests wait for an answer already`;
    if (this.#bytes + bytes <= open_request_bytes) return null;
    return `the requests that wait for an answer would have more than ${open_request_bytes} bytes`;
  }

  #name(streamId: string): string {
    let name = streamId;
    while (this.#used.has(name) || name.length > longestId) {
      // Half a character at the cut would be none.
      name = `${streamId.slice(0, 240).replace(/[\ud800-\udbff]$/, "")}~${++this.#renamed}`;
    }
    return name;
  }

  #end(use: Use): void {
    if (use.state !== "open") return;
    use.state = "ended";
    this.#ended.push(use.streamId);
  }
}

const encoder = new TextEncoder();

const unlimited: RequestLimits = { open_requests: Infinity, open_request_bytes: Infinity };

/** Most requests of one session: a flood of ids must not exhaust the host's memory. */
const mostRequests = 10_000;

/** Characters of an id that doors accept. */
const longestId = 256;
