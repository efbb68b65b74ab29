import type { ArtifactList } from "../../records/git/artifacts.ts";
import { pathText } from "../../records/git/raw-diff.ts";
import type { Snapshot } from "../../records/git/snapshot.ts";
import type { RunningSessionDeps, RunningSessionOptions } from "./session-options.ts";

/** Changes of one session in its working directory, but for what the host itself wrote, such as a grant. */
export class SessionChanges {
  readonly #options: Pick<RunningSessionOptions, "workdir" | "artifacts" | "stateDir" | "secretPaths">;
  readonly #deps: Pick<RunningSessionDeps, "looks" | "watchOwnFiles">;
  #snapshot: Snapshot | null = null;
  #withoutOwn: Awaited<ReturnType<RunningSessionDeps["watchOwnFiles"]>> | null = null;

  constructor(
    options: Pick<RunningSessionOptions, "workdir" | "artifacts" | "stateDir" | "secretPaths">,
    deps: Pick<RunningSessionDeps, "looks" | "watchOwnFiles">,
  ) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Takes the snapshot that later looks are compared with. */
  async begin(signal: AbortSignal): Promise<void> {
    const { workdir, artifacts, stateDir, secretPaths } = this.#options;
    if (artifacts === "none") return;
    const watching = this.#deps.watchOwnFiles();
    watching.catch(() => {});
    this.#snapshot = await this.#deps.looks.take(workdir, { exclude: [stateDir, ...secretPaths], signal });
    this.#withoutOwn = await watching;
  }

  /** Returns the commit that the working directory began at; null where that is not known. */
  get head(): string | null {
    return this.#snapshot?.head ?? null;
  }

  /** Returns the paths that have changed until now; null where they are not known. */
  async now(): Promise<string[] | null> {
    const changed = this.#snapshot === null ? null : await this.#list(this.#snapshot);
    if (changed === null || changed.artifacts === null) return null;
    return [...changed.artifacts.map(({ path }) => path), ...changed.others.map(({ path }) => pathText(path))];
  }

  /** Returns what has changed, and releases the snapshot. */
  async end(): Promise<ArtifactList> {
    const snapshot = this.#snapshot;
    if (snapshot === null) {
      const reason = this.#options.artifacts === "none" ? "not_asked" : "not_started";
      return { artifacts: null, reason, head: null };
    }
    const changed = await this.#list(snapshot);
    // The session does not wait for the removal of its files. A killed host's next start removes what is left of them.
    void this.#deps.looks.release(snapshot);
    return changed;
  }

  async #list(snapshot: Snapshot): Promise<ArtifactList> {
    const changed = await this.#deps.looks.list(snapshot);
    if (changed.artifacts === null || this.#withoutOwn === null) return changed;
    return { ...changed, artifacts: await this.#withoutOwn(changed.artifacts) };
  }
}
