import type { AdapterEvent } from "./events.ts";
import { TextTail } from "./text-tail.ts";

/** Most calls and tasks that are remembered while they run. */
const maxOpen = 10_000;
const maxSaid = 64 * 1024;

/** A task that an agent runs beside its turn, such as a helper agent. */
export interface BackgroundTask {
  id: string;
  /** For people. */
  what: string;
  /** True for one that may run on for good, as a server does: it is not waited for long. */
  lasting?: boolean;
}

/**
 * Knows the work of an agent that is not over: calls of tools without a result, and tasks in the background. While there
 * is any, a last word is not the end of the session. Calls are read from the events; the adapter names the tasks.
 */
export class OpenWork {
  readonly #calls = new Map<string, string>();
  #tasks = new Map<string, BackgroundTask>();
  readonly #said = new TextTail(maxSaid);
  #spoke = true;
  readonly #takesCalls: boolean;
  readonly #interim = new WeakMap<AdapterEvent, string>();

  /** @param options.calls false for a program that does not tell the results of its calls */
  constructor({ calls = true }: { calls?: boolean } = {}) {
    this.#takesCalls = calls;
  }

  /** Takes an event of the agent's; pass all of them, in order. */
  take(event: AdapterEvent): void {
    if (event.type === "output" && event.stream !== "stderr") {
      this.#said.add(event.data);
      this.#spoke ||= event.data.trim() !== "";
    } else if (event.type === "tool_call" && this.#takesCalls) {
      if (this.#calls.size < maxOpen) this.#calls.set(event.call_id, event.tool);
      this.#spoke = false;
    } else if (event.type === "tool_result") this.#calls.delete(event.call_id);
  }

  /** Replaces all tasks. */
  setTasks(tasks: readonly BackgroundTask[]): void {
    this.#tasks = new Map(tasks.slice(0, maxOpen).map((task) => [task.id, task]));
  }

  /** Adds a task. */
  startTask(task: BackgroundTask): void {
    if (this.#tasks.size < maxOpen) this.#tasks.set(task.id, task);
  }

  /** A task is over. */
  endTask(id: string): void {
    this.#tasks.delete(id);
  }

  /** No open call will get a result, and that says nothing: its use was not permitted, for example. */
  forgetCalls(): void {
    this.#calls.clear();
  }

  /** The kind of work that holds the session open: a task that ends by itself, a call, a task that may not end, or nothing. */
  get kind(): "task" | "call" | "lasting" | null {
    if ([...this.#tasks.values()].some(({ lasting }) => !lasting)) return "task";
    if (this.#calls.size > 0) return "call";
    return this.#tasks.size > 0 ? "lasting" : null;
  }

  /** Whether the agent has said something since its last call: then it has the results of its calls, though not told. */
  get spokeSince(): boolean {
    return this.#spoke;
  }

  /** The open work, for people; at most three of its parts. */
  get description(): string {
    const tasks = [...this.#tasks.values()].map(({ what }) => `the background task "${what.slice(0, 100)}"`);
    const parts = [...tasks, ...[...this.#calls.values()].map((tool) => `the call of ${tool.slice(0, 100)}`)];
    const more = parts.length > 3 ? ` and ${parts.length - 3} more` : "";
    return parts.slice(0, 3).join(", ") + more;
  }

  /** Notes that a last word came while a task ran: the task may be over when the word is taken. */
  mark(word: AdapterEvent): void {
    if (this.#tasks.size > 0) this.#interim.set(word, this.description);
  }

  /** The work that was open when a last word came, for people; null for none. */
  openAt(word: AdapterEvent): string | null {
    return this.#interim.get(word) ?? (this.kind === null ? null : this.description);
  }

  /** Whether a turn with this answer broke off: a task is not over, or a call is not and nothing was said after it. */
  brokeOff(answer: string): boolean {
    if (this.kind === "task") return true;
    if (this.kind !== "call" || this.#spoke) return false;
    const words = answer.trim();
    // Words in the answer alone came after the call as well.
    return words === "" || this.#said.text.includes(words);
  }
}
