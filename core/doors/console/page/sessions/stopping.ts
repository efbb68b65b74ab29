import { type Signal, signal } from "@preact/signals";
import type { HostApi } from "../api.ts";

/** How long a stop of several sessions can be taken back. Milliseconds. */
const undoMs = 5000;

/** Stops several sessions at once, after a few seconds in which a person can take it back. */
export class Stopping {
  /** Sessions that are about to be stopped, and when; null while none are. */
  readonly pending: Signal<{ ids: readonly string[]; at: number } | null> = signal(null);
  readonly #api: HostApi;
  readonly #done: (failed: readonly unknown[], count: number) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: HostApi, done: (failed: readonly unknown[], count: number) => void) {
    this.#api = api;
    this.#done = done;
  }

  begin(ids: readonly string[]): void {
    // A second stop must not put off the first.
    const all = [...new Set([...this.pending.peek()?.ids ?? [], ...ids])];
    clearTimeout(this.#timer);
    this.pending.value = { ids: all, at: Date.now() + undoMs };
    this.#timer = setTimeout(() => void this.now(), undoMs);
  }

  undo = (): void => {
    clearTimeout(this.#timer);
    this.pending.value = null;
  };

  now = async (): Promise<void> => {
    const ids = this.pending.peek()?.ids ?? [];
    this.undo();
    const answers = await Promise.allSettled(
      ids.map((id) => this.#api.send("POST", `/v1/sessions/${encodeURIComponent(id)}/interrupt`)),
    );
    this.#done(answers.flatMap((one) => one.status === "rejected" ? [one.reason as unknown] : []), ids.length);
  };
}
