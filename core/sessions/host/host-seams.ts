import type { Journal } from "../../records/journal/journal.ts";
import type { UseStore } from "../routing/use-files.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { ListedFacts, WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { SessionGroup } from "../../records/journal/session-groups.ts";
import type { SessionFilter, SessionRecord, SessionSpan } from "../../records/journal/session-record.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import type { SpentPages } from "./session-usage.ts";

/** Slots of sessions that several hosts have together. */
export interface SessionSlots {
  /**
   * Takes one for a session that is about to begin.
   * @param most sessions of all hosts together
   * @returns gives it back
   * @throws {BulkheadError} `busy`, `unavailable`
   */
  take(most: number): Promise<() => void>;
}

/** Images and files that several hosts hand to one another, by their hash. */
export interface SharedBytes {
  /**
   * Puts bytes there; reads them only where they are not there yet.
   * @throws {BulkheadError} `unavailable`, `limit_exceeded`, and what reading throws
   */
  put(sha256: string, read: () => Promise<Uint8Array>): Promise<void>;
  /**
   * Returns bytes, unchecked; null for what is not there.
   * @throws {BulkheadError} `unavailable`
   */
  get(sha256: string): Promise<Uint8Array | null>;
}

/** Places where something that stands above a host takes part in it. */
export interface HostSeams {
  /**
   * Opens the journal; default: `open()`.
   * @param file path of the journal
   * @param open opens that file; to be called again after what it opened was closed
   */
  openJournal?(file: string, open: () => Promise<Journal>): Promise<Journal>;
  /** Sessions of further hosts. */
  others?: readonly ElsewhereSessions[];
  /** Counts the sessions of several hosts; default: those of this host alone count. */
  slots?: SessionSlots;
  /** Shares the use of access modes with further hosts; default: with those of the state folder. */
  shareUses?(files: UseStore): UseStore;
  /** Attachments of further hosts; default: none. */
  sharedBytes?: SharedBytes;
  /** Its agents are stand-ins, which need no keys: no access mode counts as without its own. */
  keyless?: true;
}

/** A session in a list, with what it waits for as far as that is known here. */
export interface ElsewhereSummary {
  record: SessionRecord;
  waiting: WaitingRequest[];
  /** Only of a running one whose host was asked. */
  facts?: ListedFacts | undefined;
  /** Only of an ended one that changed some, where facts are asked for. */
  lines?: ListedFacts["lines"] | undefined;
}

/** A session that another host runs or ran. */
export interface ElsewhereSession {
  record: SessionRecord;
  waiting(): Promise<WaitingRequest[]>;
  /** As of its journal. */
  read: Journal["read"];
  history(): Promise<SessionHistory>;
  /** Streams its events after a `seq` as they are written; ends as a session's events do. */
  events(query: EventQuery): AsyncIterable<Envelope>;
  /**
   * Deletes a session that has ended.
   * @throws {BulkheadError} `busy` where that cannot be done now
   */
  delete(): Promise<void>;
  /**
   * Tells its host to stop it; resolves once that host knows.
   * @throws {BulkheadError} `busy` for a host that cannot be told
   */
  interrupt(): Promise<void>;
  /** As `SessionHandle.answer`. */
  answer(requestId: string, choice: string | null): Promise<boolean>;
}

/** Sessions of other hosts that this one can show. */
export interface ElsewhereSessions {
  /** Returns the matching sessions, the newest of each host. */
  list(filter: SessionFilter, options?: { facts?: boolean }): Promise<ElsewhereSummary[]>;
  /** Returns the sessions with these words and times, grouped for counting, page by page. */
  groups(span: SessionSpan): AsyncIterable<SessionGroup[]>;
  /** Returns what the sessions have used that began since a time. */
  spent(since: string): SpentPages;
  /** Returns one session, or its tombstone; null when no other host has it. */
  find(sessionId: string): Promise<ElsewhereSession | null>;
}
