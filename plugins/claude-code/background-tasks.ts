import { type BackgroundTask, fieldsOf, type JsonFields, objectsOf, textOf } from "bulkhead/plugin-sdk";

/** Kinds of tasks that may run on for good: shells and what watches them. */
const lastingKinds = /bash|shell|monitor|watch/i;

/** States of a task that is over. */
const over: readonly unknown[] = ["completed", "failed", "killed", "stopped"];

/** The program's own ledger of its tasks in the background: helper agents, and commands of a shell. */
export class BackgroundTasks {
  #open = new Map<string, BackgroundTask>();

  /** Those that run. */
  get open(): BackgroundTask[] {
    return [...this.#open.values()];
  }

  /** Takes a `system` message; most are about something else. */
  take(message: JsonFields): void {
    const id = textOf(message["task_id"]);
    switch (message["subtype"]) {
      case "background_tasks_changed":
        // It names all of them each time.
        this.#open.clear();
        return objectsOf(message["tasks"]).forEach((task) => this.#add(task));
      case "task_started":
        // One in the foreground is part of a tool's call, which is open as long.
        return message["is_backgrounded"] === false ? undefined : this.#add(message);
      case "task_notification":
        return void (id === undefined ? null : this.#open.delete(id));
      case "task_updated": {
        const patch = fieldsOf(message["patch"]) ?? message;
        if (id !== undefined && over.includes(patch["status"])) this.#open.delete(id);
        return;
      }
      default:
        return;
    }
  }

  #add(task: JsonFields): void {
    const id = textOf(task["task_id"]) ?? textOf(task["id"]);
    // Those are not the agent's work: watchers, for example.
    if (id === undefined || task["ambient"] === true || task["skip_transcript"] === true) return;
    const kind = textOf(task["task_type"]) ?? "";
    const what = textOf(task["description"]) ?? textOf(task["subagent_type"]) ?? id;
    this.#open.set(id, { id, what, lasting: lastingKinds.test(kind) });
  }
}
