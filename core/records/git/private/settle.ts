import { runIn } from "../find-repository.ts";
import type { GitChange } from "../../../../plugin-sdk/git-changes.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { runGit } from "../../../ground/platform/processes/git-program.ts";
import { checkedOut, symbolicTarget } from "./read-refs.ts";
import { deletion } from "./git-commands.ts";
import { keptRoot } from "./hold-borrowed.ts";
import { keepIndex, stageAgain, wayBack } from "./way-back.ts";
import { headStep, moveHead } from "./move-head.ts";
import { heldCommit, leadsTo, outermost } from "./look-at-commits.ts";
import { idsOf, type TakeOverPlan } from "./plan-take-over.ts";
import {
  type KnownObjects,
  moveIntoRepository,
  type ObjectsPlace,
  objectTypes,
  prepareStores,
  refuseOddFiles,
  takeIntoStore,
} from "./take-objects.ts";

/** Tips that are tried one by one where git refuses all of them together. */
const mostAlone = 50;

/** Carries out a plan: moves what may move, keeps the rest under refs of the session, and reports all of it. */
export async function settle(plan: TakeOverPlan): Promise<GitChange[]> {
  const at: ObjectsPlace = plan;
  await Promise.all([prepareStores(at), refuseOddFiles(at)]);
  const wanted = wantedIds(plan);
  const old = idsOf(plan.before);
  const there = await objectTypes(at, [...new Set([...wanted, ...old])]);
  const bases = old.filter((id) => there.has(id));
  const refused = await takeAll(at, { tips: wanted.filter((id) => there.has(id)), bases });
  await moveIntoRepository(at);
  const settling = new Settling(plan, { bases, there, refused });
  await settling.head();
  await settling.branches();
  await settling.rest();
  return settling.changes;
}

/** Ids of everything that the agent's git folder names and the repository may not have. */
function wantedIds({ refs, after, reached, index }: TakeOverPlan): string[] {
  const blobs = (index ?? []).flatMap(([, entry]) => entry === null || entry.mode === "160000" ? [] : [entry.id]);
  const named = [...refs.values(), ...reached.stashes, ...reached.others.values(), ...reached.logged];
  return [...new Set([...(after.commit === null ? [] : [after.commit]), ...named, ...blobs])];
}

/** Takes all objects, or as many as git accepts. Returns why it refused some, by the id that leads to them. */
async function takeAll(
  at: ObjectsPlace,
  { tips, bases }: { tips: readonly string[]; bases: readonly string[] },
): Promise<Map<string, string>> {
  const refused = new Map<string, string>();
  if (tips.length === 0) return refused;
  const attempt = (ids: readonly string[]) =>
    takeIntoStore(at, { tips: ids, bases }).then(() => null, (error: unknown) => {
      at.signal.throwIfAborted();
      return error instanceof BulkheadError ? error.message.replace(/\.$/, "") : String(error);
    });
  const failure = await attempt(tips);
  if (failure === null) return refused;
  for (const [number, id] of tips.entries()) {
    const own = number < mostAlone && tips.length > 1 ? await attempt([id]) : failure;
    if (own !== null) refused.set(id, own);
  }
  return refused;
}

class Settling {
  readonly changes: GitChange[] = [];
  readonly #plan: TakeOverPlan;
  readonly #root: string;
  readonly #bases: readonly string[];
  readonly #there: KnownObjects;
  readonly #refused: ReadonlyMap<string, string>;
  /** Names of {@link GitChange} that are settled. */
  readonly #done = new Set<string>();
  /** Ids that the repository has under a name. */
  readonly #reachable: string[] = [];

  constructor(
    plan: TakeOverPlan,
    { bases, there, refused }: { bases: readonly string[]; there: KnownObjects; refused: ReadonlyMap<string, string> },
  ) {
    this.#plan = plan;
    this.#root = keptRoot(plan.sessionId, plan);
    this.#bases = bases;
    this.#there = there;
    this.#refused = refused;
  }

  /** Moves HEAD, the branch that is checked out, and the index; or keeps what the agent made of them. */
  async head(): Promise<void> {
    const { before, after, index, isWorktree } = this.#plan;
    const isMoved = before.head !== after.head || before.commit !== after.commit;
    if (!isMoved && index?.length === 0) return;
    const step = await headStep(this.#plan, {
      lost: (id) => this.#lost(id),
      held: (tip) => heldCommit(this.#plan, { tip, bases: this.#bases, rules: this.#plan.rules }),
    });
    const refusal = "because" in step ? step : null;
    const because = refusal?.because ?? await moveHead(step as Exclude<typeof step, { because: string }>);
    // In a worktree of the session's own, HEAD alone moves.
    const target = isWorktree ? null : symbolicTarget(after.head);
    const name = target ?? "HEAD";
    if (because === null) {
      if (isMoved) await this.#moved(name, { old: before.commit, id: after.commit });
      if (target !== null) this.#done.add(target);
      // The index alone was moved.
      if (!isMoved) this.changes.push({ name: "index", outcome: "moved" });
      return;
    }
    const outcome = refusal?.isHeld === true ? "held" : "kept";
    // A branch that is not checked out any more may still move.
    if (target === null && after.commit !== null && after.commit !== before.commit) {
      await this.#keep("HEAD", { id: after.commit, reason: because, outcome });
    }
    this.#reasons.set(name, { because, outcome });
    await this.#index(because);
  }

  readonly #reasons = new Map<string, { because: string; outcome: "kept" | "held" }>();

  /** Moves branches that no one has checked out, or moved meanwhile. */
  async branches(): Promise<void> {
    const { known, refs, before, isWorktree } = this.#plan;
    const names = [...refs.keys()].filter((name) => name.startsWith("refs/heads/") && !this.#done.has(name));
    if (names.length === 0) return;
    const used = await checkedOut(known.common_dir);
    for (const name of names) {
      const id = refs.get(name)!;
      const lost = this.#lost(id);
      if (lost !== null) {
        this.#left(name, { id, reason: lost });
        continue;
      }
      const earlier = this.#reasons.get(name);
      const because = isWorktree
        ? "branches of the repository stay as they are"
        : used.has(name)
        ? earlier?.because ?? "it is checked out in another worktree"
        : await this.#holdsBranch(id) ?? await this.#updateRef(name, { id, old: before.refs.ids.get(name) ?? null });
      if (because === null) await this.#moved(name, { old: before.refs.ids.get(name) ?? null, id });
      else {
        const held = because === this.#lastHeld || used.has(name) && earlier?.outcome === "held";
        await this.#keep(name, { id, reason: because, outcome: held ? "held" : "kept" });
      }
    }
  }

  #lastHeld: string | null = null;

  async #holdsBranch(id: string): Promise<string | null> {
    return this.#lastHeld = await heldCommit(this.#plan, { tip: id, bases: this.#bases, rules: this.#plan.rules });
  }

  /** Keeps everything else. */
  async rest(): Promise<void> {
    const { refs, deleted, reached } = this.#plan;
    for (const [number, id] of reached.stashes.entries()) {
      await this.#keep(`stash@{${number}}`, { id, reason: "a stash is not taken over by itself" });
    }
    const remotes = new Set<string>();
    for (const [name, id] of refs) {
      if (name.startsWith("refs/heads/") || this.#done.has(name)) continue;
      if (name === "refs/stash" && reached.stashes.includes(id)) continue;
      if (name.startsWith("refs/remotes/")) remotes.add(name.split("/")[2]!);
      else await this.#keep(name, { id, reason: "only branches are taken over by themselves" });
    }
    for (const remote of remotes) {
      const reason = "the repository learns of its remote branches by itself";
      this.changes.push({
        name: `refs/remotes/${remote}`,
        outcome: "left",
        reason,
        command: `git fetch ${/^[\w.-]+$/.test(remote) ? remote : "--all"}`,
      });
    }
    for (const name of deleted) {
      if (name.startsWith("refs/remotes/")) continue;
      const reason = "the agent deleted it, and deletions are not taken over";
      this.changes.push({ name, outcome: "left", reason, command: deletion(name) });
    }
    await this.#unnamed();
  }

  /** Commits that no ref names: of an unfinished rebase, of a detached HEAD, or before a reset. */
  async #unnamed(): Promise<void> {
    const { reached, refs } = this.#plan;
    const isCommit = (id: string) => this.#there.get(id) === "commit" && !this.#refused.has(id);
    const known = [...this.#bases, ...this.#reachable];
    const named = [...reached.others].filter(([, id]) => isCommit(id));
    const remote = [...refs].filter(([name, id]) => name.startsWith("refs/remotes/") && isCommit(id)).map(([, id]) =>
      id
    );
    const ids = [...new Set([...named.map(([, id]) => id), ...reached.logged.filter(isCommit), ...remote])];
    const outer = await outermost(this.#plan, { ids, known });
    for (const [number, id] of outer.entries()) {
      const place = named.find(([, one]) => one === id)?.[0];
      await this.#keep(place ?? `reflog/${number}`, { id, reason: "no branch leads to it" });
    }
    if (reached.isRebasing) {
      const reason = "the agent left a rebase half done, and its files are as it left them";
      this.changes.push({ name: "rebase-merge", outcome: "left", reason, command: "git status" });
    }
  }

  /** Why an object cannot be taken over; null where it can. */
  #lost(id: string): string | null {
    if (!this.#there.has(id)) return "the object is not there";
    return this.#refused.get(id) ?? null;
  }

  async #moved(name: string, { old, id }: { old: string | null; id: string | null }): Promise<void> {
    this.#done.add(name);
    const change: GitChange = { name, outcome: "moved", ...(id === null ? {} : { id }) };
    this.changes.push(change);
    if (id === null) return;
    this.#reachable.push(id);
    if (old === null || await leadsTo(this.#plan, { from: id, to: old })) return;
    // It was amended, rebased or reset: what it named before stays reachable.
    const kept_as = `${this.#root}/was/${keptName(name)}`;
    if (await this.#updateRef(kept_as, { id: old }) !== null) return;
    Object.assign(change, { kept_as, reason: "it was rewritten, and its old commits are kept" });
  }

  async #keep(
    name: string,
    { id, reason, outcome = "kept" }: { id: string; reason: string; outcome?: "kept" | "held" },
  ): Promise<void> {
    const lost = this.#lost(id);
    if (lost !== null) return this.#left(name, { id, reason: lost });
    const keptAs = `${this.#root}/${keptName(name)}`;
    const failure = await this.#updateRef(keptAs, { id });
    if (failure !== null) return this.#left(name, { id, reason: failure });
    if (this.#there.get(id) === "commit") this.#reachable.push(id);
    const command = await wayBack(this.#plan, { name, id, keptAs });
    this.changes.push({ name, outcome, id, kept_as: keptAs, reason, command });
  }

  async #index(because: string): Promise<void> {
    const kept = await keepIndex(this.#plan);
    if (kept === null) return;
    const keptAs = `${this.#root}/index`;
    if (!("id" in kept)) return this.#left("index", { reason: kept.because });
    const command = await stageAgain(this.#plan, { id: kept.id, keptAs });
    if (command === null) return;
    const failure = await this.#updateRef(keptAs, { id: kept.id });
    if (failure !== null) return this.#left("index", { reason: failure });
    this.changes.push({ name: "index", outcome: "kept", id: kept.id, kept_as: keptAs, reason: because, command });
  }

  #left(name: string, { id, reason }: { id?: string; reason: string }): void {
    this.changes.push({ name, outcome: "left", ...(id === undefined ? {} : { id }), reason });
  }

  /** Returns why git refused it; null when it was done. Without `old` any value is replaced. */
  async #updateRef(name: string, { id, old }: { id: string; old?: string | null }): Promise<string | null> {
    const zeros = "0".repeat(id.length);
    const expected = old === undefined ? [] : [old ?? zeros];
    const args = ["update-ref", "-m", `bulkhead: session ${this.#plan.sessionId}`, name, id, ...expected];
    const outcome = await runGit(args, runIn(this.#plan.known.git_dir));
    if (outcome.exit_code === 0) return null;
    return old === undefined ? outcome.stderr.split("\n")[0]! : "it was moved meanwhile";
  }
}

/** Name of a ref below those that are kept of a session. */
function keptName(name: string): string {
  if (name.startsWith("stash@{")) return `stash/${name.slice("stash@{".length, -1)}`;
  const known = /^refs\/((?:heads|tags|notes)\/.+)$/.exec(name)?.[1];
  return known ?? (name.startsWith("refs/") ? name : `unnamed/${name}`);
}
