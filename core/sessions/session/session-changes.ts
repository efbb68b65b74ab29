import type { HeldChange, InstallScripts } from "../../../plugin-sdk/held.ts";
import { containsPrograms } from "../../packages/permissions/contained-programs.ts";
import { shownHeld } from "../../records/gate/held-item.ts";
import { type LookStart, startLook } from "../../records/gate/known-entries.ts";
import type { ArtifactList } from "../../records/git/artifacts.ts";
import { leftChanges } from "../../records/git/left-changes.ts";
import { pathText } from "../../records/git/raw-diff.ts";
import type { Snapshot } from "../../records/git/snapshot.ts";
import type { Admitted, RunningSessionDeps } from "./admitted.ts";
import { type CheckpointsDeps, type KeptTurn, SessionCheckpoints, type TurnCheckpoint } from "./session-checkpoints.ts";
import type { TurnSigns } from "./turn-signs.ts";

type ChangesDeps =
  & Pick<
    RunningSessionDeps,
    "looks" | "stateDir" | "secretPaths" | "watchOwnFiles" | "watchHeld" | "keepHeld"
  >
  & CheckpointsDeps;

/** Changes that wait for a person's word, or are named to one. */
export interface Left {
  held: HeldChange[];
  install_scripts: InstallScripts[];
}

const nothingLeft: Left = { held: [], install_scripts: [] };

/** Changes of one session in its working directory, but for what the host itself wrote, such as a grant. */
export class SessionChanges {
  readonly #session: Admitted;
  readonly #deps: ChangesDeps;
  #snapshot: Snapshot | null = null;
  /** The snapshot of the turn under way, where it is not the session's first. */
  #turn: Snapshot | null = null;
  #withoutOwn: Awaited<ReturnType<RunningSessionDeps["watchOwnFiles"]>> | null = null;
  #start: LookStart | null = null;
  #watching: Promise<void> = Promise.resolve();
  readonly #signs: Pick<TurnSigns, "take" | "hasRun">;
  readonly #checkpoints: SessionCheckpoints;
  /** Of the turn that ended last. */
  #ended: KeptTurn | null = null;
  /** The store lists the changes of the turn under way: it looks for less than two snapshots. */
  #isByStore = false;
  #isInTurn = false;

  constructor(session: Admitted, deps: ChangesDeps, signs: Pick<TurnSigns, "take" | "hasRun">) {
    this.#session = session;
    this.#deps = deps;
    this.#signs = signs;
    this.#checkpoints = new SessionCheckpoints(session, deps);
  }

  /** Plans to take turns back, between two turns; null once the session takes none any more. As `CheckpointStore.plan`. */
  plan(...asked: Parameters<SessionCheckpoints["plan"]>): ReturnType<SessionCheckpoints["plan"]> {
    return this.#checkpoints.plan(...asked);
  }

  /** Takes the snapshot that later looks are compared with. */
  async begin(signal: AbortSignal): Promise<void> {
    const { place: { workdir }, artifacts, beginsIdle, firstTurn } = this.#session;
    const { stateDir, secretPaths } = this.#deps;
    const starting = this.#isGuarded ? startLook(workdir) : null;
    if (starting === null && artifacts === "none") return;
    const watching = this.#deps.watchOwnFiles();
    watching.catch(() => {});
    if (artifacts !== "none") {
      this.#snapshot = await this.#deps.looks.take(workdir, { exclude: [stateDir, ...secretPaths], signal });
    }
    this.#withoutOwn = await watching;
    this.#start = await starting;
    if (this.#start !== null) this.#watching = this.#deps.watchHeld({ folder: workdir, start: this.#start });
    this.#watching.catch(() => {});
    // What happens until the first message is no turn's.
    if (artifacts !== "none" && !beginsIdle) await this.#keepBefore(firstTurn, signal);
  }

  async #keepBefore(turn: number, signal: AbortSignal): Promise<void> {
    this.#isInTurn = true;
    await this.#checkpoints.beginTurn(turn, { signal });
  }

  /** The turn that was to begin does not: its message was taken back. */
  dropTurn(): null {
    this.#isInTurn = this.#isByStore = false;
    return this.#turn = null;
  }

  /** The agent goes on by itself, with a turn of its own. */
  async goOn(turn: number, signal: AbortSignal): Promise<void> {
    if (this.#snapshot === null) return;
    const ended = this.#keepAfter();
    this.#isInTurn = true;
    // The store does one after the other.
    await Promise.all([ended, this.#checkpoints.beginTurn(turn, { signal, isLate: true })]);
  }

  async #keepAfter(): Promise<KeptTurn | null> {
    const [claims, isInTurn] = [this.#signs.take(), this.#isInTurn];
    this.#isInTurn = false;
    if (isInTurn) this.#ended = await this.#checkpoints.endTurn(claims, { ranPrograms: this.#signs.hasRun });
    return this.#ended;
  }

  /** Looks at the files that the changes of a further turn are compared with. */
  async beginTurn(turn: number, signal: AbortSignal): Promise<void> {
    if (this.#snapshot === null) return;
    await this.#keepBefore(turn, signal);
    this.#isByStore = this.#checkpoints.isKeeping;
    if (this.#isByStore) return;
    const { stateDir, secretPaths } = this.#deps;
    this.#turn = await this.#deps.looks.take(this.#session.place.workdir, {
      exclude: [stateDir, ...secretPaths],
      signal,
    });
  }

  /** Returns what has changed in the turn, and what of the session's changes waits for a person's word. */
  async endTurn(
    { ranPrograms }: { ranPrograms: boolean },
  ): Promise<ArtifactList & { left: Left; kept: TurnCheckpoint | null }> {
    const [turn, begun, isByStore] = [this.#turn, this.#turn ?? this.#snapshot, this.#isByStore];
    const looking = this.#left(this.#snapshot, ranPrograms);
    // First: it takes the signs of the turn, and what a person does from now on is none of it.
    const keeping = this.#keepAfter();
    const listed = isByStore ? this.#ofHost((await keeping)?.changed ?? this.#none()) : this.#list(begun);
    const changed = await listed;
    [this.#turn, this.#isByStore] = [null, false];
    if (turn !== null) void this.#deps.looks.release(turn);
    return { ...changed, left: await looking, kept: (await keeping)?.kept ?? null };
  }

  #none(): ArtifactList {
    return {
      artifacts: null,
      reason: this.#session.artifacts === "none" ? "not_asked" : "not_started",
      head: null,
    } as const;
  }

  /** Whether walls kept programs of the session from changing what others act on, and it works in place. */
  get #isGuarded(): boolean {
    const { candidates, place } = this.#session;
    return place.workspaceDir === undefined && candidates.some(({ plugin }) => containsPrograms(plugin));
  }

  /** Returns the commit that the working directory began at; null where that is not known. */
  get head(): string | null {
    return this.#snapshot?.head ?? null;
  }

  /** Returns the paths that have changed in the turn until now; null where they are not known. */
  async now(): Promise<string[] | null> {
    if (this.#isByStore) return await this.#checkpoints.now().catch(() => null);
    const changed = await this.#list(this.#turn ?? this.#snapshot);
    if (changed.artifacts === null) return null;
    return [...changed.artifacts.map(({ path }) => path), ...changed.others.map(({ path }) => pathText(path))];
  }

  /**
   * Returns what has changed, and what of it waits for a person's word; releases the snapshot.
   * @param ranPrograms whether the session started any
   */
  async end(
    { ranPrograms }: { ranPrograms: boolean },
  ): Promise<ArtifactList & { left: Left; kept: TurnCheckpoint | null }> {
    const snapshot = this.#snapshot;
    const looking = this.#left(snapshot, ranPrograms);
    if (snapshot === null) {
      await this.#checkpoints.end();
      return { ...this.#none(), left: await looking, kept: null };
    }
    const [kept, changed, left] = await Promise.all([this.#keepAfter(), this.#list(snapshot), looking]);
    await this.#checkpoints.end();
    // The session does not wait for the removal of its files. A killed host's next start removes what is left of them.
    void this.#deps.looks.release(snapshot);
    return { ...changed, left, kept: kept?.kept ?? null };
  }

  async #list(snapshot: Snapshot | null): Promise<ArtifactList> {
    return snapshot === null ? this.#none() : await this.#ofHost(await this.#deps.looks.list(snapshot));
  }

  /** Takes out what the host itself wrote. */
  async #ofHost(changed: ArtifactList): Promise<ArtifactList> {
    if (changed.artifacts === null || this.#withoutOwn === null) return changed;
    return { ...changed, artifacts: await this.#withoutOwn(changed.artifacts) };
  }

  /** Looks at what the session left in its folder. A look that fails holds the whole folder. */
  async #left(snapshot: Snapshot | null, ranPrograms: boolean): Promise<Left> {
    // Nothing of a worktree reaches the project: where this look fails, the apply looks again.
    const { workdir: top, noteHeld } = this.#session.place;
    if (ranPrograms && noteHeld !== null) {
      return { ...nothingLeft, held: await noteHeld().catch(() => []) };
    }
    if (this.#start === null) return nothingLeft;
    const { stateDir } = this.#deps;
    const look = { top, start: this.#start, snapshot, skip: [stateDir] };
    const left = ranPrograms ? await leftChanges(look) : { held: [], install_scripts: [] };
    const items = await this.#withoutOwn?.(left.held) ?? left.held;
    // The result names them also if the state cannot be written.
    await this.#watching.catch(() => {});
    await this.#deps.keepHeld({ folder: top, items }).catch(() => {});
    return { held: items.map(shownHeld), install_scripts: left.install_scripts };
  }
}
