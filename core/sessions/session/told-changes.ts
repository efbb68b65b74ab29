import type { AdapterEvent, ToolCallEvent } from "../../../plugin-sdk/events.ts";
import { pathFields } from "../../../plugin-sdk/tool-kinds.ts";
import { isAbsolute, isBelow, relative, resolve, sep } from "../../ground/platform/files/paths.ts";
import { isGone } from "../../ground/platform/files/remove-tree.ts";

/** Most files that are looked for before their change, in one attempt. */
const mostLooks = 4000;
const longestPath = 4096;

/** Says an agent's changes in one way, whatever its adapter knows: by paths of the working directory, and new files as such. */
export class ToldChanges {
  readonly #workdir: string;
  /** Files that were not there when a call that may make them began. */
  readonly #missing = new Set<string>();
  #looks = 0;

  constructor(workdir: string) {
    this.#workdir = workdir;
  }

  /** The event as it is told; the same one where nothing of it changes. */
  take(event: AdapterEvent): AdapterEvent {
    if (event.type === "tool_call" && event.kind === "edit") this.#look(event);
    const told = relativePaths(this.#workdir, event);
    if (told.type !== "file_change") return told;
    const wasMissing = this.#missing.delete(told.path);
    return wasMissing && told.action === "modify" ? { ...told, action: "create" } : told;
  }

  /** Looks at once: the tool may write the file at any moment. An answer that comes too late is none. */
  #look({ input }: ToolCallEvent): void {
    for (const named of namedIn(input)) {
      const path = resolve(this.#workdir, named);
      if (!isBelow(this.#workdir, path) || this.#looks++ >= mostLooks) continue;
      void isGone(path).then((gone) => gone && this.#missing.add(within(this.#workdir, path)));
    }
  }
}

/** Paths that a tool's input names, itself or in the differences that agents of the Agent Client Protocol show. */
function namedIn(input: unknown): string[] {
  if (typeof input !== "object" || input === null) return [];
  const fields = input as Readonly<Record<string, unknown>>;
  const paths = pathFields.flatMap((field) => {
    const path = fields[field];
    return typeof path === "string" && path !== "" && path.length <= longestPath ? [path] : [];
  });
  return Array.isArray(fields["content"]) ? [...paths, ...fields["content"].flatMap(namedIn)] : paths;
}

/** An event with its paths relative to the working directory, where they lie inside it; the same one without any. */
export function relativePaths(workdir: string, event: AdapterEvent): AdapterEvent {
  if (event.type === "file_change") {
    const from = event.from === undefined ? {} : { from: within(workdir, event.from) };
    const path = within(workdir, event.path);
    return path === event.path && from.from === event.from ? event : { ...event, path, ...from };
  }
  if (event.type !== "completed" || event.files_changed.length === 0) return event;
  return { ...event, files_changed: [...new Set(event.files_changed.map((path) => within(workdir, path)))] };
}

/** Makes an agent's path relative to the working directory if it lies inside it. */
export function within(workdir: string, path: string): string {
  if (!isAbsolute(path)) return path.replace(/^(\.\/)+(?=.)/, "");
  return isBelow(workdir, path) ? relative(workdir, path).split(sep).join("/") : path;
}
