import { type Signal, signal } from "@preact/signals";
import type { RewindReport, RewindRequest } from "../../../../../plugin-sdk/conversation.ts";
import { type HostApi, RefusedCall } from "../api.ts";

/** How far a rewind is. `isGone`: the turns are taken back already. */
type RewindState =
  | { kind: "looking" }
  | { kind: "refused"; text: string; hint: string | undefined; isGone: boolean }
  | { kind: "planned"; plan: RewindReport }
  | { kind: "acting"; plan: RewindReport }
  | { kind: "done"; report: RewindReport };

/** Choices of a person about files that are not surely the agent's alone, and about what the agent knows. */
export type RewindChoice = Required<Pick<RewindRequest, "keep_theirs" | "unclaimed" | "talk">>;

interface RewindDeps {
  api: Pick<HostApi, "send">;
  /** Path of the conversation. */
  path: string;
  /** The first turn to take back. */
  turn: number;
  /** Whether the host keeps the files of the turns; else the talk alone goes back. */
  hasFiles: boolean;
  /** Says how it went, after the turns are taken back or are there again. */
  done(report: RewindReport): void;
}

/** One rewind, from the look at what it would do to its undo. */
export class RewindAct {
  readonly state: Signal<RewindState> = signal<RewindState>({ kind: "looking" });
  readonly choice: Signal<RewindChoice>;
  /** Whether it brings back what was taken back last. */
  readonly isUndo: Signal<boolean> = signal(false);
  readonly #deps: RewindDeps;
  /** The turn to go back to. */
  #to: number;
  /** The newest turn that the agent knew before the talk was taken back; null where it was not. */
  #known: number | null = null;
  #looks = 0;

  constructor(deps: RewindDeps) {
    this.#deps = deps;
    this.#to = deps.turn - 1;
    this.choice = signal({ keep_theirs: false, unclaimed: false, talk: !deps.hasFiles });
  }

  /** Asks what it would do. */
  async look(): Promise<void> {
    const look = ++this.#looks;
    this.state.value = { kind: "looking" };
    try {
      const plan = await this.#send({ dry_run: true }).catch((error: unknown) => {
        if (!this.#findsOther(error)) throw error;
        return this.#send({ dry_run: true });
      });
      if (look === this.#looks) this.state.value = { kind: "planned", plan };
    } catch (error) {
      if (look === this.#looks) this.#refuse(error);
    }
  }

  /** Changes a choice; another choice about what is taken back needs another look. */
  choose(choice: Partial<RewindChoice>): void {
    this.choice.value = { ...this.choice.value, ...choice };
    if (choice.keep_theirs === undefined) void this.look();
  }

  /** Does what was planned. */
  async act(): Promise<void> {
    const state = this.state.value;
    if (state.kind !== "planned") return;
    this.state.value = { kind: "acting", plan: state.plan };
    try {
      const report = await this.#send({});
      const forgets = report.talk?.forgets ?? [];
      this.#known = this.isUndo.value || forgets.length === 0 ? null : Math.max(...forgets);
      this.state.value = { kind: "done", report };
      this.#deps.done(report);
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Turns to the undo of the last rewind, and asks what that would do. */
  async lookAtUndo(): Promise<void> {
    this.isUndo.value = true;
    this.choice.value = { ...this.choice.value, keep_theirs: false, unclaimed: false };
    await this.look();
  }

  async #send(more: RewindRequest): Promise<RewindReport> {
    const { talk, ...choice } = this.choice.value;
    const { hasFiles } = this.#deps;
    if (!this.isUndo.value) return await this.#post({ to: this.#to, files: hasFiles, talk, ...choice, ...more });
    const back = this.#known === null ? null : { to: this.#known, files: false, talk: true, ...more };
    // An undo is of files alone: the talk comes back by its turn.
    if (hasFiles || back === null) {
      const report = await this.#post({ undo: true, ...choice, ...more });
      return back === null ? report : { ...await this.#post(back), ...report };
    }
    return { ...await this.#post(back), undo: true };
  }

  #post(request: RewindRequest): Promise<RewindReport> {
    return this.#deps.api.send("POST", `${this.#deps.path}/rewind`, request);
  }

  /** An earlier rewind may have taken back the turn before: then the one before that is meant. */
  #findsOther(error: unknown): boolean {
    const turns = error instanceof RefusedCall ? error.details["turns"] : undefined;
    const { turn } = this.#deps;
    if (!Array.isArray(turns) || !turns.includes(turn)) return false;
    this.#to = Math.max(0, ...turns.filter((one): one is number => typeof one === "number" && one < turn));
    return true;
  }

  #refuse(error: unknown): void {
    const isRefusal = error instanceof RefusedCall;
    const isGone = isRefusal && Array.isArray(error.details["turns"]);
    const text = isGone
      ? `Turn ${this.#deps.turn} is taken back already.`
      : error instanceof Error
      ? error.message
      : String(error);
    this.state.value = { kind: "refused", text, hint: isRefusal && !isGone ? error.hint : undefined, isGone };
  }
}
