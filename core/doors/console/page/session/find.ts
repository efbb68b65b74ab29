import { type Signal, signal } from "@preact/signals";
import type { HostApi } from "../api.ts";

/** A place in a session where a text stands. */
interface TextHit {
  session_id: string;
  seq: number;
  at: string;
  type: string;
  text: string;
}

/** A search in the sessions of a conversation, as far as it is. */
export interface Search {
  text: string;
  hits: readonly TextHit[];
  /** Share of the events that were looked at, from 0 to 1. */
  done: number;
  failed: string | null;
}

/** Places that are kept: a person looks for one of them. */
const mostHits = 1000;
/** Letters that come close together are one search. */
const typingMs = 250;

/** Finds a text in all events of some sessions, however many there are: the host looks, a piece at a time. */
export class TextSearch {
  readonly search: Signal<Search | null> = signal(null);
  readonly #api: HostApi;
  #over = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: HostApi) {
    this.#api = api;
  }

  /** Looks for another text; an empty one ends the search. */
  ask(text: string, ids: readonly string[]): void {
    this.close();
    this.search.value = text.trim() === "" ? null : { text, hits: [], done: 0, failed: null };
    if (text.trim() !== "") this.#timer = setTimeout(() => void this.#find(text.trim(), ids), typingMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }

  async #find(text: string, ids: readonly string[]): Promise<void> {
    this.#over = new AbortController();
    const { signal } = this.#over;
    const hits: TextHit[] = [];
    try {
      for (const [at, id] of ids.entries()) {
        const path = `/v1/sessions/${encodeURIComponent(id)}/find`;
        for (let after: number | null = 0; after !== null && hits.length < mostHits;) {
          const found: { hits: Omit<TextHit, "session_id">[]; next: number | null; last: number } = await this.#api.get(
            path,
            { text, after },
            signal,
          );
          if (signal.aborted) return;
          hits.push(...found.hits.map((hit) => ({ ...hit, session_id: id })));
          const part = found.next === null ? 1 : found.next / found.last;
          after = found.next;
          this.search.value = { text, hits: [...hits], done: (at + part) / ids.length, failed: null };
        }
      }
      this.search.value = { text, hits, done: 1, failed: null };
    } catch (error) {
      if (signal.aborted) return;
      this.search.value = { text, hits, done: 1, failed: error instanceof Error ? error.message : String(error) };
    }
  }
}
