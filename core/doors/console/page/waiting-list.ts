import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { HostApi } from "./api.ts";
import type { WaitingItem } from "../../http/waiting-item.ts";
import type { LiveEvents } from "./live.ts";

// Events after which something else may wait.
const telling: ReadonlySet<string> = new Set([
  "permission_request",
  "question",
  "permission_resolved",
  "session_ended",
  "worker",
]);
/** Some of the things that wait have no event. */
const pollMs = 10_000;

/** Everything that waits for a person, in the order of the host: what ends first on top. */
export class WaitingList {
  readonly items: Signal<readonly WaitingItem[]> = signal([]);
  /** Those that hold up a running session, or a person's own work: the rest can wait until someone looks. */
  readonly blocking: ReadonlySignal<readonly WaitingItem[]> = computed(() =>
    this.items.value.filter(({ request_id, kind }) => request_id !== null || kind === "held")
  );
  readonly state: Signal<"loading" | "ready" | { failed: unknown }> = signal("loading");
  /** Whether it is read again while the page is hidden, too: the desktop shows it. */
  isWatched = false;
  #api: HostApi;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Reads one after another: an older answer must not come after a newer one. */
  #reading: Promise<void> = Promise.resolve();

  constructor(api: HostApi, live: LiveEvents) {
    this.#api = api;
    live.subscribe((envelopes) => {
      if (envelopes.some(({ event }) => telling.has(event.type))) this.touch();
    });
    live.opened.subscribe((count) => count > 0 && this.touch());
    setInterval(() => document.hidden && !this.isWatched || live.line.value.state !== "open" || this.touch(), pollMs);
  }

  /** Reads it again soon. */
  touch(): void {
    this.#timer ??= setTimeout(() => (this.#reading = this.#reading.then(() => this.#read()).catch(() => {})), 100);
  }

  /** Reads it again at once; resolves when the page shows what waits now. */
  async again(): Promise<void> {
    await (this.#reading = this.#reading.then(() => this.#read()).catch(() => {}));
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      const { items } = await this.#api.get<{ items: WaitingItem[] }>("/v1/waiting");
      this.items.value = items;
      this.state.value = "ready";
    } catch (error) {
      this.state.value = { failed: error };
    }
  }
}
