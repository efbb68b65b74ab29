import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { Operations } from "../../walls/channel/operations.ts";
import type { AttemptDeps, Candidate } from "./admitted.ts";
import { canTalk } from "./enforceable.ts";
import type { TurnSource } from "./turn-calls.ts";
import type { TurnPrompt } from "./session-turns.ts";

interface EntryTurnsOptions {
  candidate: Candidate;
  request: SessionRequest;
  /** Whether the entry has ended. */
  isOver(): boolean;
  /** Called before a turn ends. */
  beforeEnd(): void;
  /** Called with what the entry gets; null: no more. */
  onGiven(turn: TurnPrompt | null): void;
}

/** Gives an entry the turn under way, and then each next one. */
export class EntryTurns implements TurnSource {
  readonly #deps: Pick<AttemptDeps, "session" | "turns" | "nextTurn">;
  readonly #options: EntryTurnsOptions;
  #hasFirst = false;

  constructor(deps: Pick<AttemptDeps, "session" | "turns" | "nextTurn">, options: EntryTurnsOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async next({ seen }: Operations["turn_next"]["args"]): Promise<Operations["turn_next"]["value"]> {
    const { candidate, request, isOver, beforeEnd, onGiven } = this.#options;
    const takesTurns = canTalk(candidate.plugin.manifest, "turns");
    const kept = takesTurns && (this.#deps.session.request.keep_ms ?? 0) > 0;
    if (!this.#hasFirst) {
      this.#hasFirst = true;
      const number = this.#deps.turns.current?.number ?? 1;
      return { number, ...turnOf(request), kept };
    }
    if (!takesTurns) return null;
    beforeEnd();
    const turn = await this.#deps.nextTurn(seen, isOver);
    onGiven(turn);
    if (turn === null) return null;
    const further = candidate.furtherRequest({ ...turn, agentSession: null, earlier: [] });
    return { number: turn.number, ...turnOf(further), kept };
  }

  wait(args: Operations["turn_wait"]["args"]): Promise<Operations["turn_wait"]["value"]> {
    const { candidate, isOver } = this.#options;
    return this.#deps.turns.wait(args, { canSteer: canTalk(candidate.plugin.manifest, "steer"), isOver });
  }
}

/** The fields of a request that a turn has. */
function turnOf({ prompt, output_schema, effort, plan }: SessionRequest) {
  return { prompt, ...omitUndefined({ output_schema, effort, plan }) };
}
