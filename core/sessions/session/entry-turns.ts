import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { Operations } from "../../walls/channel/operations.ts";
import type { AttemptDeps, Candidate } from "./admitted.ts";
import { canTalk } from "./enforceable.ts";
import { fitAttachments, type Prompted } from "./attached-files.ts";
import type { TurnSource } from "./turn-calls.ts";
import type { TurnPrompt } from "./session-turns.ts";

interface EntryTurnsOptions {
  candidate: Candidate;
  request: SessionRequest;
  /** Puts an attachment where the agent's programs can read it; returns its path. */
  pathOf(sha256: string): Promise<string>;
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
  #request: SessionRequest;

  constructor(deps: Pick<AttemptDeps, "session" | "turns" | "nextTurn">, options: EntryTurnsOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#request = options.request;
  }

  /** Returns the request as the adapter gets it. */
  get request(): SessionRequest {
    return this.#request;
  }

  /** Fits the request to what the adapter takes of its images and files. */
  async fitRequest(): Promise<void> {
    const { content, ...request } = this.#request;
    const { prompt, content: taken } = await this.#fit({ prompt: request.prompt, ...omitUndefined({ content }) });
    this.#request = { ...request, prompt, ...(taken === undefined ? {} : { content: [...taken] }) };
  }

  async next({ seen }: Operations["turn_next"]["args"]): Promise<Operations["turn_next"]["value"]> {
    const { candidate, isOver, beforeEnd, onGiven } = this.#options;
    const takesTurns = canTalk(candidate.plugin.manifest, "turns");
    const kept = takesTurns && (this.#deps.session.request.keep_ms ?? 0) > 0;
    if (!this.#hasFirst) {
      this.#hasFirst = true;
      const { prompt, content, output_schema, effort, plan } = this.request;
      const number = this.#deps.turns.current?.number ?? 1;
      return { number, prompt, ...omitUndefined({ content, output_schema, effort, plan }), kept };
    }
    if (!takesTurns) return null;
    beforeEnd();
    const turn = await this.#deps.nextTurn(seen, isOver);
    onGiven(turn);
    if (turn === null) return null;
    const further = candidate.furtherRequest({ ...turn, agentSession: null, earlier: [] });
    const { output_schema, effort, plan } = further;
    return {
      number: turn.number,
      ...await this.#fit(further),
      ...omitUndefined({ output_schema, effort, plan }),
      kept,
    };
  }

  async wait(args: Operations["turn_wait"]["args"]): Promise<Operations["turn_wait"]["value"]> {
    const { candidate, isOver } = this.#options;
    const given = await this.#deps.turns.wait(args, { canSteer: canTalk(candidate.plugin.manifest, "steer"), isOver });
    if (given === null || !("message_id" in given)) return given;
    const { prompt: text, ...parts } = await this.#fit({
      prompt: given.text,
      ...omitUndefined({ content: given.content }),
    });
    return { message_id: given.message_id, text, ...parts };
  }

  #fit({ prompt, content }: Prompted): Promise<Prompted> {
    const { candidate: { plugin: { manifest } }, pathOf } = this.#options;
    return fitAttachments({ prompt, ...omitUndefined({ content }) }, { manifest, pathOf });
  }
}
