import {
  attachmentsOf,
  type ForkRequest,
  type MessageTerms,
  type SaidMessage,
  textOf,
} from "../../../../plugin-sdk/conversation.ts";
import type { Follows } from "../../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import type { SessionRecord } from "../../../records/journal/session-record.ts";
import { hasCeiling, knownUse, nothing } from "../../session/spend/shared-budgets.ts";
import type { SessionMessage } from "../../session/session-turns.ts";
import type { LiveSession } from "../live-sessions.ts";
import type { LiveStartOptions } from "../start-session.ts";
import { demandEnv, isOtherThan, nextRequest } from "../next-request.ts";
import { unknownSession } from "../session-handle.ts";
import type { MessageCaller, RunSessionOptions } from "../session-host.ts";
import { conversationIn, type SessionTalk } from "../session-talk.ts";
import { forkPoint } from "./fork-point.ts";
import { type Drawn, drawnBudget, type DrawnDeps } from "./drawn-budget.ts";
import type { KnownTalks } from "./known-talks.ts";
import { type OwnSessions, recall } from "./recall.ts";
import { type LinePart, turnLine } from "./turn-line.ts";

/** Begins a session that goes on from others. */
type NextSession = Pick<LiveStartOptions, "recalled" | "begins" | "filesOf" | "placeOf"> & { follows: Follows };

/** Collaborators of {@link NextSessions}. */
export interface NextSessionsDeps extends DrawnDeps {
  talks: KnownTalks;
  /** Returns what is known of a session, also of other hosts and deleted ones; null for an unknown one. */
  record(id: string): Promise<SessionRecord | null>;
  /** Returns the sessions of a conversation that were not deleted, in their order. */
  recordsOf(conversation: string): Promise<SessionRecord[]>;
  start(request: SessionRequest, options: RunSessionOptions, next: NextSession): Promise<LiveSession>;
  /** How an adapter goes on with its agent's own sessions. */
  ownSessions(adapter: string): OwnSessions;
  /** Returns the first adapter of a list whose agent is not limited, or soon not any more; null where none is open. */
  firstOpen(chain: readonly string[], request: Pick<SessionRequest, "model">): Promise<string | null>;
}

/** Begins sessions that know turns of others: the next one of a conversation, or the first one of a fork. */
export class NextSessions {
  readonly #deps: NextSessionsDeps;

  constructor(deps: NextSessionsDeps) {
    this.#deps = deps;
  }

  /** Begins the conversation's next session with the message as its prompt. */
  async begin(
    conversation: string,
    message: SessionMessage,
    { caller, sessionId }: { caller: MessageCaller; sessionId?: string },
  ): Promise<SaidMessage> {
    const { message_id, by, content, expected_turn, output_schema, traceparent, with: terms = {} } = message;
    if (expected_turn !== undefined) {
      throw new BulkheadError("conflict", `Cannot give a message to turn ${expected_turn}: no turn runs.`);
    }
    const { head, oldest, talk, turn } = await this.#head(conversation);
    const words = { prompt: textOf(content), content: attachmentsOf(content), output_schema, traceparent };
    const adapter = terms.agent ?? await this.#openAgent(talk, oldest);
    const drawn = await this.#drawn(talk, true);
    const wanted = nextRequest(talk, { ...words, with: { ...terms, agent: adapter }, used: drawn?.used ?? null });
    const request = await caller.admit?.(wanted) ?? wanted;
    const recalled = await this.#recall({ session_id: head }, { adapter, goesOn: { conversation, turn } });
    demandEnv(talk, request);
    if (recalled.last !== null) demandEnv(recalled.last, request);
    const follows: Follows = {
      conversation_id: conversation,
      session_id: head,
      turn,
      why: adapter !== talk.adapter ? "agent" : isOtherThan(talk.requested, terms) ? "terms" : "message",
      memory: recalled.memory,
      message: { message_id, by },
      ...sharedBudget(drawn, terms),
    };
    const live = await this.#deps.start(
      { ...request, ...recalled.request },
      { adapter, ...omitUndefined({ client: caller.client, sessionId }) },
      { follows, recalled },
    );
    return { message_id, session_id: live.id, state: "delivered", turn: turn + 1 };
  }

  /**
   * Begins a conversation that knows the turns up to one of this one.
   * @throws {BulkheadError} as `Conversations.fork`
   */
  async fork(
    conversation: string,
    { agent, model, prompt = "", message_id = randomId(), traceparent, ...wish }: ForkRequest,
    { caller, begins }: { caller: MessageCaller } & Pick<NextSession, "begins">,
  ): Promise<string> {
    const { at, talk, workspace } = await this.#pointOf(conversation, { request: wish, act: "fork" });
    const terms = omitUndefined({ agent, model });
    const drawn = await this.#drawn(talk, prompt !== "");
    const same = nextRequest(talk, { prompt, content: [], traceparent, with: terms, used: drawn?.used ?? null });
    const wanted: SessionRequest = { ...same, workspace: workspace === "worktree" ? "worktree" : "inplace" };
    const request = await caller.admit?.(wanted) ?? wanted;
    if (prompt !== "") demandEnv(talk, request);
    const adapter = agent ?? talk.adapter;
    const from = { session_id: talk.session_id, turn: at };
    const recalled = await this.#recall(from, { adapter, isSameFolder: workspace === "in_place" });
    const sessionId = randomId();
    const message = { message_id, by: { client: caller.client ?? "" } };
    const live = await this.#deps.start(
      // One without a turn needs no memory: its next session sees where it comes from.
      { ...request, ...(prompt === "" ? {} : recalled.request) },
      {
        adapter,
        sessionId,
        ...omitUndefined({ client: caller.client, artifacts: prompt === "" ? "none" as const : undefined }),
      },
      {
        follows: {
          conversation_id: sessionId,
          ...from,
          why: "fork",
          memory: recalled.memory,
          ...(prompt === "" ? {} : { message }),
          ...sharedBudget(drawn),
        },
        recalled,
        begins,
        filesOf: workspace === "worktree" ? { conversation: conversationIn(talk), turn: at } : undefined,
      },
    );
    return live.id;
  }

  /**
   * Returns the numbers of the turns that an agent does not know any more once the talk goes back to one.
   * @throws {BulkheadError} `not_found`, `busy` for a turn that runs
   */
  async turnsAfter(conversation: string, to: number): Promise<number[]> {
    const { head, talk } = await this.#pointOf(conversation, { request: { at: to }, act: "rewind" });
    const known = await this.#numbers({ session_id: talk.session_id, turn: to });
    return (await this.#numbers({ session_id: head })).filter((turn) => !known.includes(turn));
  }

  /**
   * Prepares the session that says from which turn the talk goes on, and returns what begins it.
   * @throws {BulkheadError} `not_found`, `busy`, `budget_exceeded`, `forbidden`
   */
  async rewound(
    conversation: string,
    { to, caller }: { to: number; caller: MessageCaller },
  ): Promise<(sessionId: string) => Promise<void>> {
    const { talk: { session_id, adapter } } = await this.#pointOf(conversation, { request: { at: to }, act: "rewind" });
    const { head, talk } = await this.#head(conversation);
    const drawn = await this.#drawn(talk, false);
    const wanted = nextRequest(talk, { prompt: "", content: [], with: { agent: adapter }, used: drawn?.used ?? null });
    const request = await caller.admit?.(wanted) ?? wanted;
    const { memory } = await this.#recall({ session_id, turn: to }, { adapter });
    return async (sessionId) => {
      const live = await this.#deps.start(
        request,
        { adapter, sessionId, artifacts: "none", ...omitUndefined({ client: caller.client }) },
        {
          follows: {
            conversation_id: conversation,
            session_id,
            turn: to,
            why: "rewind",
            memory,
            ...sharedBudget(drawn),
          },
          placeOf: head,
        },
      );
      await live.result;
    };
  }

  /**
   * Returns what was used of a session's budget since it began; null without a budget of cost or tokens. One that has no turn
   * hands on the budget as it got it.
   */
  async #drawn({ session_id, requested, follows, usage }: SessionTalk, hasTurn: boolean): Promise<Drawn | null> {
    if (!hasCeiling(requested)) return null;
    if (!hasTurn) return { used: nothing, budget: follows?.budget ?? { of: session_id, ...nothing } };
    const used = usage === null ? { cost: null, tokens: null } : knownUse(usage);
    return await drawnBudget({ session_id, follows, used }, this.#deps);
  }

  /** Finds a turn of a conversation, also one that was taken back, and its newest session. */
  async #pointOf(
    conversation: string,
    asked: Pick<Parameters<typeof forkPoint>[1], "request" | "act">,
  ): Promise<Awaited<ReturnType<typeof forkPoint>> & { head: string }> {
    const records = await this.#deps.recordsOf(conversation);
    const head = records.at(-1) ?? unknownSession(conversation);
    const talks = await Promise.all(records.map((record) => this.#deps.talks.soFar(record)));
    // Another host has it.
    if (head.state === "running" && talks.at(-1) === null) throw stillRunning(head.session_id);
    const { session_id } = head;
    return {
      ...await forkPoint(conversation, { ...asked, line: this.#line({ session_id }), others: talks }),
      head: session_id,
    };
  }

  async #numbers(end: { session_id: string; turn?: number }): Promise<number[]> {
    const numbers: number[] = [];
    for await (const { turns } of this.#line(end)) numbers.unshift(...turns.map(({ turn }) => turn));
    return numbers;
  }

  /** Returns the agent of a session, or the next one of the conversation's list that is open, while that one is limited. */
  async #openAgent({ adapter, requested: { model } }: SessionTalk, oldest: SessionRecord): Promise<string> {
    const { candidates = [] } = await this.#deps.talks.ended(oldest) ?? {};
    if (candidates.length < 2 || !candidates.includes(adapter)) return adapter;
    const chain = [adapter, ...candidates.filter((one) => one !== adapter)];
    return await this.#deps.firstOpen(chain, omitUndefined({ model })) ?? adapter;
  }

  /** Returns the newest session of a conversation, what it tells, and the number of the conversation's last turn. */
  async #head(
    conversation: string,
  ): Promise<{ head: string; oldest: SessionRecord; talk: SessionTalk; turn: number }> {
    const records = await this.#deps.recordsOf(conversation);
    const head = records.at(-1) ?? unknownSession(conversation);
    if (head.state === "running") throw stillRunning(head.session_id);
    const talk = await this.#deps.talks.ended(head) ?? unknownEvents(head.session_id);
    return {
      head: head.session_id,
      oldest: records[0] ?? head,
      talk,
      turn: Math.max(...records.map(({ last_turn }) => last_turn)),
    };
  }

  /** Decides how an agent knows the turns up to one; `goesOn`: in the next session of that very conversation. */
  #recall(
    from: { session_id: string; turn?: number },
    { adapter, goesOn = null, isSameFolder = true }: {
      adapter: string;
      goesOn?: { conversation: string; turn: number } | null;
      isSameFolder?: boolean;
    },
  ): ReturnType<typeof recall> {
    return recall(() => this.#line(from), {
      adapter,
      own: this.#deps.ownSessions(adapter),
      isNewest: ({ talk, turns }) =>
        goesOn !== null && goesOn.conversation === conversationIn(talk) && turns.at(-1)?.turn === goesOn.turn,
      isUsed: (talk) => this.#isUsed(talk),
      isSameFolder,
    });
  }

  #line(from: { session_id: string; turn?: number }): AsyncIterable<LinePart> {
    return turnLine(from, this.#deps);
  }

  /** Whether a later session of a conversation has gone on with the agent's own session of one. */
  async #isUsed(talk: SessionTalk): Promise<boolean> {
    const records = await this.#deps.recordsOf(conversationIn(talk));
    const later = records.slice(records.findIndex(({ session_id }) => session_id === talk.session_id) + 1);
    for (const other of await Promise.all(later.map((one) => this.#deps.talks.soFar(one)))) {
      const { continue_from, fork } = other?.requested ?? {};
      if (other?.agent_session_id === talk.agent_session_id) return true;
      if (fork === undefined && continue_from === talk.agent_session_id) return true;
    }
    return false;
  }
}

/** The shared budget that a session draws on; none where its message sets another one. */
function sharedBudget(drawn: Drawn | null, { budget = {} }: MessageTerms = {}): Pick<Follows, "budget"> {
  return drawn === null || hasCeiling({ budget }) ? {} : { budget: drawn.budget };
}

function stillRunning(sessionId: string): BulkheadError {
  return new BulkheadError("busy", `Cannot go on from session "${sessionId}": it is still running.`, {
    hint: "Wait for its end, or interrupt it.",
    details: { session_id: sessionId },
  });
}

function unknownEvents(sessionId: string): never {
  throw new BulkheadError("not_found", `Cannot go on from session "${sessionId}": its events are not kept any more.`);
}
