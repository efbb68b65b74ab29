import {
  type AdapterEvent,
  type AgentEndedEvent,
  fieldsOrNone,
  type JsonFields,
  listOf,
  stringOf,
  textOf,
} from "bulkhead/plugin-sdk";

/** Threads that are remembered. */
const mostThreads = 10_000;

/** A helper: a thread that the agent gave work to. Its id is the thread's. */
interface Helper {
  name: string | undefined;
  prompt: string | undefined;
  callId: string | undefined;
  parent: string | undefined;
  runs: boolean;
  output: string | undefined;
  used: { in: number; out: number; cached: number } | null;
}

/** The helpers of a thread: when they begin and end, and what each of them used. */
export class Helpers {
  readonly #helpers = new Map<string, Helper>();

  /** Notes a thread that another one began. */
  noted({ id, parentThreadId, agentNickname, agentRole }: JsonFields, main: string | null): void {
    const [thread, parent] = [textOf(id), textOf(parentThreadId)];
    const helper = parent === undefined ? undefined : this.#of(thread);
    if (helper === undefined) return;
    helper.name = textOf(agentNickname) ?? textOf(agentRole) ?? helper.name;
    if (parent !== main) helper.parent = parent;
  }

  /** Takes a call by which a thread gives work to others, and returns their beginnings. */
  called(item: JsonFields): AdapterEvent[] {
    const { id, tool, prompt, receiverThreadIds } = item;
    if (tool !== "spawnAgent" && tool !== "sendInput" && tool !== "resumeAgent") return [];
    return listOf(receiverThreadIds).flatMap((thread) => {
      const helper = this.#of(thread);
      if (helper === undefined || helper.runs) return [];
      helper.prompt = textOf(prompt);
      helper.callId = textOf(id);
      return tool === "spawnAgent" ? this.works(String(thread)) : [];
    });
  }

  /** Takes what the agent does with a helper, or a helper with its own. */
  acted({ agentThreadId, agentPath, kind }: JsonFields): AdapterEvent[] {
    const thread = stringOf(agentThreadId) ?? "";
    const helper = this.#of(thread);
    if (helper === undefined) return [];
    // A path such as /root/look.
    helper.name ??= textOf(agentPath)?.split("/").at(-1) || undefined;
    if (kind === "started") return this.works(thread);
    return kind === "interrupted" ? this.over(thread, {}) : [];
  }

  /** A thread works; returns its beginning, once for each piece of work. */
  works(thread: string): AdapterEvent[] {
    const helper = this.#of(thread);
    if (helper === undefined || helper.runs) return [];
    Object.assign(helper, { runs: true, output: undefined, used: null });
    const { callId: call_id, parent, prompt } = helper;
    return [{
      type: "agent_started",
      agent_id: thread,
      ...(call_id === undefined ? {} : { call_id }),
      ...(parent === undefined ? {} : { parent }),
      name: this.nameOf(thread),
      ...(prompt === undefined ? {} : { prompt }),
    }];
  }

  /** Notes the words of a helper; the last of them are its answer. */
  said(thread: string, text: string): void {
    const helper = this.#helpers.get(thread);
    if (helper) helper.output = text;
  }

  /** Adds to what a helper used, which is a part of the session's. */
  used(thread: string, tokens: { in: number; out: number; cached: number }): void {
    const helper = this.#helpers.get(thread);
    if (!helper) return;
    const before = helper.used ?? { in: 0, out: 0, cached: 0 };
    helper.used = {
      in: before.in + tokens.in,
      out: before.out + tokens.out,
      cached: before.cached + tokens.cached,
    };
  }

  /** The work of a thread is over. */
  over(thread: string, turn: unknown): AdapterEvent[] {
    const helper = this.#helpers.get(thread);
    if (!helper?.runs) return [];
    helper.runs = false;
    const status = stringOf(fieldsOrNone(turn)["status"]);
    const outcome: AgentEndedEvent["outcome"] = status === "completed"
      ? "completed"
      : status === "failed"
      ? "error"
      : "stopped";
    const { output, used } = helper;
    return [{
      type: "agent_ended",
      agent_id: thread,
      outcome,
      ...(used === null
        ? {}
        : { usage: { tokens_in: used.in, tokens_out: used.out, tokens_cached: used.cached, cost: null } }),
      ...(output === undefined || output === "" ? {} : { output }),
    }];
  }

  /** Name of a helper for people. */
  nameOf(thread: string): string {
    return (this.#helpers.get(thread)?.name ?? "helper").slice(0, 200);
  }

  #of(thread: unknown): Helper | undefined {
    if (typeof thread !== "string" || thread === "" || thread.length > 256) return undefined;
    const known = this.#helpers.get(thread);
    if (known !== undefined || this.#helpers.size >= mostThreads) return known;
    const helper: Helper = {
      name: undefined,
      prompt: undefined,
      callId: undefined,
      parent: undefined,
      runs: false,
      output: undefined,
      used: null,
    };
    this.#helpers.set(thread, helper);
    return helper;
  }
}
