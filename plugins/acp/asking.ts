import {
  BulkheadError,
  fieldsOrNone,
  type JsonFields,
  objectsOf,
  type SessionRequest,
  textOf,
} from "bulkhead/plugin-sdk";
import { optionOf, valuesOf } from "./session-choices.ts";

/** Names of modes in which agents ask before they edit or run anything, the most usual first. */
const askingModes = ["default", "ask", "manual", "normal"];
/** Parts of names of modes in which they change nothing. */
const readingModes = /plan|architect|read.?only/i;
/** Parts of names of modes in which they edit or run without asking, or a model of theirs decides. */
const freeModes = /auto|yolo|bypass|accept|dont.?ask|full|danger|unrestricted|never|skip|trust/i;
const editingModes = /^(?:accept|auto).?edits?$/i;

/** A choice of the mode that an agent asks in. */
interface ModeChoice {
  /** The agent's answer to the opening of the session. */
  session: JsonFields;
  request: SessionRequest;
  /** Mode that the operator or the request named. */
  named: string | undefined;
  /** Mode of a known agent in which it asks. */
  known: string | undefined;
}

/** Whether a request says how what the agent does is approved, and not all of it beforehand. */
export function saysApproval({ approval = "all", allowed_tools, tool_approvals = {} }: SessionRequest): boolean {
  const rules = Object.values(tool_approvals).filter((answer) => answer !== "allow");
  return approval !== "all" || allowed_tools !== undefined || rules.length > 0;
}

/** Tools that rules of the request name, which must ask whatever they do. */
export function namedTools({ tool_approvals = {} }: SessionRequest): string[] {
  return Object.entries(tool_approvals).flatMap(([tool, answer]) =>
    answer === "allow" || tool.includes("*") ? [] : [tool]
  );
}

/**
 * Returns the mode to ask for, so that the agent asks before it works; undefined leaves it in its own. A mode that nothing
 * is known of stays: the host ends the session when the agent works unasked in it.
 * @throws {BulkheadError} `unenforceable` where the agent has only modes in which it does not ask
 */
export function askingMode({ session, request, named, known }: ModeChoice): string | undefined {
  const { current, offered } = modesOf(session);
  if (named !== undefined) {
    if (saysApproval(request) && !holds(named, request)) throw unenforceable(named, offered);
    return named;
  }
  if (current === undefined || request.approval === "all" || isAsking(current) || readingModes.test(current)) {
    return undefined;
  }
  const asking = [known, ...askingModes.map((name) => offered.find((id) => nameOf(id) === name))]
    .find((id) => id !== undefined && offered.includes(id));
  // An agent whose model decides what it may do is asked to leave that to a person.
  if (!saysApproval(request)) return /^auto\b/i.test(nameOf(current)) ? asking : undefined;
  if (asking === undefined && !holds(current, request)) throw unenforceable(current, offered);
  return asking;
}

function holds(mode: string, { approval, best_effort }: SessionRequest): boolean {
  const name = nameOf(mode);
  if (best_effort === true || !freeModes.test(name) || readingModes.test(name)) return true;
  return approval === "edits" && editingModes.test(name);
}

function isAsking(mode: string): boolean {
  return askingModes.includes(nameOf(mode));
}

/** The name of a mode: some agents have addresses, with the name at their end. */
function nameOf(mode: string): string {
  return (mode.split(/[#/]/).at(-1) ?? mode).toLowerCase();
}

/** The modes of a session, in either of the protocol's forms. */
export function modesOf(session: JsonFields): { current: string | undefined; offered: string[] } {
  const modes = fieldsOrNone(session["modes"]);
  const option = optionOf(session, "mode");
  const listed = objectsOf(modes["availableModes"]).flatMap(({ id }) => textOf(id) ?? []);
  return {
    current: textOf(modes["currentModeId"]) ?? textOf(option?.["currentValue"]),
    offered: listed.length > 0 || !option ? listed : valuesOf(option),
  };
}

function unenforceable(mode: string, offered: readonly string[]): BulkheadError {
  return new BulkheadError(
    "unenforceable",
    `Cannot hold the agent to what the request says of approval: in its mode "${mode}" it does not ask.`,
    {
      hint: `Choose a mode in which it asks (it offers ${offered.join(", ").slice(0, 512) || "no other"}): ` +
        "--param mode=<mode>. Or leave approval out, choose another agent, or set best_effort.",
      details: { fields: ["approval"], mode: mode.slice(0, 256) },
    },
  );
}
