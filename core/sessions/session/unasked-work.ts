import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type {
  AdapterEvent,
  PermissionRequestEvent,
  ToolCallEvent,
  ToolResultEvent,
} from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import type { ToolKind } from "../../../plugin-sdk/tool-kinds.ts";
import { type ApprovalRules, decide, isNamed, isReading } from "./approval-policy.ts";
import { workOf } from "../../../plugin-sdk/work-of.ts";

/** Families of work that agents ask for. They read without asking, and call what they use for themselves `other`. */
type Work = "edit" | "execute";

interface Call {
  tool: string;
  kind: ToolKind;
  /** Null for reading, and for a call of which nothing is known. */
  work: Work | null;
}

/**
 * Holds an agent to the approval that a request sets. The host can only answer what an agent asks; work that policy would
 * have asked about, or denied, and that was done without a yes, ends the session. It judges one attempt: another one is
 * another process of the agent.
 */
export class UnaskedWork {
  readonly #rules: ApprovalRules;
  readonly #calls = new Map<string, Call>();
  /** Calls that a request was about, and whether its answer was a yes. */
  readonly #asked = new Map<string, boolean>();
  /** Allowed requests that name no call, by tool. */
  readonly #loose = new Map<string, number>();
  /** Families and tools that a person has allowed for good. */
  readonly #lasting = new Set<string>();
  /** Whether something was allowed that may change files. */
  #mayChange = false;

  /** @param request as the client set it; a field that it left out sets no limit */
  constructor({ approval = "all", allowed_tools, tool_approvals }: SessionRequest) {
    this.#rules = { approval, allowed_tools, tool_approvals };
  }

  /** Notes a request, and its answer once there is one: the id of an option, or null. */
  asked(event: PermissionRequestEvent, answer: Promise<string | null>): void {
    const { call_id } = event;
    if (call_id !== undefined && !this.#asked.has(call_id)) this.#asked.set(call_id, false);
    answer.then((id) => {
      const option = event.options.find((one) => one.id === id);
      if (option?.kind === "allow_once" || option?.kind === "allow_always") this.#allow(event, option.kind);
    }, () => {});
  }

  /** Takes an event that is in the log; returns the error that ends the session, or null. */
  take(event: AdapterEvent): ErrorData | null {
    switch (event.type) {
      case "tool_call":
        this.#open(event);
        return null;
      case "tool_result":
        return this.#close(event);
      case "file_change":
        return this.#mayChange || this.#allows({ tool: "", kind: "edit" }) ? null : this.#changed(event.path);
      default:
        return null;
    }
  }

  #open({ call_id, tool, kind, input }: ToolCallEvent): void {
    const call: Call = { tool, kind, work: workOf({ tool, kind, input }) };
    this.#calls.set(call_id, call);
    if (!isReading(kind) && this.#allows(call)) this.#mayChange = true;
  }

  #close({ call_id, output, success }: ToolResultEvent): ErrorData | null {
    const call = this.#calls.get(call_id);
    const answer = this.#asked.get(call_id);
    this.#calls.delete(call_id);
    if (call === undefined || answer === true || this.#allows(call) || this.#isCovered(call)) return null;
    // A call that failed was refused, or did not fit; a command that says how it exited has run.
    if (!success && (answer === false || call.work !== "execute" || !saysExit(output))) return null;
    return this.#isHeld(call) ? this.#error(call, answer === false) : null;
  }

  /** Whether the rules speak of this call: of edits and commands, of every tool that they name, and of a list's others. */
  #isHeld({ tool, work }: Call): boolean {
    return work !== null || isNamed(tool, this.#rules);
  }

  #allows({ tool, kind }: Pick<Call, "tool" | "kind">): boolean {
    return decide(tool, this.#rules, kind) === "allow";
  }

  /** Whether an earlier yes counts for it as well. */
  #isCovered({ tool, work }: Call): boolean {
    if (this.#lasting.has(everything) || this.#lasting.has(work ?? tool) || this.#lasting.has(tool)) return true;
    const loose = this.#loose.get(tool) ?? 0;
    if (loose > 0) this.#loose.set(tool, loose - 1);
    return loose > 0;
  }

  #allow(
    { tool, kind = "other", input, call_id }: PermissionRequestEvent,
    answer: "allow_once" | "allow_always",
  ): void {
    if (call_id !== undefined) this.#asked.set(call_id, true);
    else this.#loose.set(tool, (this.#loose.get(tool) ?? 0) + 1);
    if (!isReading(kind)) this.#mayChange = true;
    if (answer === "allow_once") return;
    this.#lasting.add(workOf({ tool, kind, input }) ?? tool);
    // A person who lets the agent leave its plan, or change its mode, chooses what it asks for afterwards.
    if (modeTools.test(tool)) this.#lasting.add(everything);
  }

  #changed(path: string): ErrorData {
    return this.#unasked(`changed ${JSON.stringify(shortText(path, 200))}`, "", { path: shortText(path, 1024) });
  }

  #error({ tool, kind }: Call, isAsked: boolean): ErrorData {
    const how = isAsked ? "without a yes to its request" : "without asking";
    return this.#unasked(`used its tool "${shortText(tool, 200)}" ${how}`, tool, { tool: shortText(tool, 256), kind });
  }

  #unasked(did: string, tool: string, details: Record<string, unknown>): ErrorData {
    const { approval } = this.#rules;
    const said = tool !== "" && isNamed(tool, this.#rules)
      ? "the request does not allow that tool"
      : `approval is "${approval}"`;
    return {
      code: "permission_denied",
      message: `The agent ${did}, and ${said}. The session was ended; what was done stays done.`,
      hint:
        "Look at what it changed. Then choose a mode of the agent in which it asks, another agent, or allow it: --approval all, or --tool-approval <tool>=allow.",
      details,
    };
  }
}

/** Names of tools that end a plan or change what is asked. */
const modeTools = /^(?:exit|leave|end)?[ _-]?plan(?:[ _-]?mode)?$|^(?:set|switch|change)[ _-]?mode$/i;

/** Stands for a yes to all that comes. */
const everything = "*";

/** Whether the output of a command tells its exit code, and not that its own sandbox did not start. */
function saysExit(output: unknown): boolean {
  const text = typeof output === "string" ? output : JSON.stringify(output) ?? "";
  if (/(?:^|"|\\n|\n)(?:bwrap|sandbox-exec): /.test(text.slice(0, 10_000))) return false;
  return /\bexit(?:ed with)?[ _-]?(?:code|status)?"?\s*[:=]?\s*\d/i.test(text.slice(0, 10_000) + text.slice(-1000));
}
