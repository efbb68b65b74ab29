import {
  type AdapterEvent,
  fieldsOf,
  type JsonFields,
  objectsOf,
  type PermissionOption,
  type PermissionRequestEvent,
  type QuestionEvent,
  textOf,
} from "bulkhead/plugin-sdk";
import { kindOfTool } from "./tool-names.ts";

/** One thing the program waits for on its standard input. */
interface OpenRequest {
  input: unknown;
  /** The program's suggestions of permissions to allow from now on, in its own words. */
  suggestions: unknown;
  questions: QuestionEvent[];
  answers: Record<string, string>;
}

const once: readonly PermissionOption[] = [
  { id: "allow", label: "Allow", kind: "allow_once" },
  { id: "deny", label: "Deny", kind: "reject_once" },
];
const always: PermissionOption = { id: "allow_always", label: "Allow from now on", kind: "allow_always" };
const questionTool = "AskUserQuestion";
/** Tool by which the program asks to leave its plan and to begin the work. */
const leavePlanTool = "ExitPlanMode";
const planOnly = "Only the plan is wanted. Give it as your answer, and end your turn with it.";

/** The program's requests on its two-way protocol, and the lines that answer them. */
export class ControlRequests {
  readonly #open = new Map<string, OpenRequest>();
  readonly #refusals: string[] = [];
  readonly #plans: () => boolean;

  /** @param plans whether the program must stay with its plan */
  constructor(plans: () => boolean = () => false) {
    this.#plans = plans;
  }

  /** Returns a request's events; null for an unknown kind, which is refused, because the program would wait forever. */
  take(message: JsonFields): AdapterEvent[] | null {
    const id = textOf(message["request_id"]);
    const request = fieldsOf(message["request"]);
    if (id === undefined || !request) return null;
    const tool = textOf(request["tool_name"]);
    if (request["subtype"] !== "can_use_tool" || tool === undefined) {
      this.#refusals.push(refusal(id));
      return null;
    }
    if (tool === leavePlanTool && this.#plans()) {
      this.#refusals.push(answer(id, { behavior: "deny", message: planOnly }));
      return [];
    }
    if (this.#open.has(id)) return this.#twice(id, message);
    const { input = null, permission_suggestions: suggestions } = request;
    const questions = tool === questionTool ? questionEvents(id, request) : [];
    this.#open.set(id, { input, suggestions, questions, answers: {} });
    return questions.length > 0 ? questions : [permissionRequest(id, { tool, request })];
  }

  /** Takes back a request that the program no longer waits for; returns the events that close it. */
  withdraw(id: string): AdapterEvent[] {
    const open = this.#open.get(id);
    if (!open) return [];
    this.#open.delete(id);
    const ids = open.questions.length > 0 ? open.questions.map(({ request_id }) => request_id) : [id];
    return ids.map((request_id) => ({ type: "request_withdrawn", request_id }));
  }

  /** Nothing could tell to which of two requests with one id an answer belongs: both get a no. */
  #twice(id: string, message: JsonFields): AdapterEvent[] {
    const denied = answer(id, { behavior: "deny", message: "Two requests have this id." });
    this.#refusals.push(denied, denied);
    return [...this.withdraw(id), { type: "unparsed", data: message }];
  }

  /** Returns the lines that refuse requests, each once. */
  refusals(): string[] {
    return this.#refusals.splice(0);
  }

  /** Returns what is open under the id of a request or question: an answer is for that alone, the id may come again. */
  opened(requestId: string): OpenRequest | undefined {
    return this.#open.get(requestId) ?? this.#open.get(requestId.slice(0, requestId.lastIndexOf(".")));
  }

  /** Returns the line that reports the choice; a null choice reports that the user did not answer. */
  permit(requestId: string, choice: PermissionOption | null, open = this.opened(requestId)): string | null {
    if (!open || this.#open.get(requestId) !== open) return null;
    this.#open.delete(requestId);
    if (choice?.kind !== "allow_once" && choice?.kind !== "allow_always") {
      const why = choice ? "The user said no." : "No one answered.";
      return answer(requestId, { behavior: "deny", message: why });
    }
    const updates = choice.kind === "allow_always" ? { updatedPermissions: open.suggestions } : {};
    return answer(requestId, { behavior: "allow", updatedInput: open.input, ...updates });
  }

  /** Keeps the answer to one of the questions, or null for none; gives the line once all of a request are answered. */
  reply(questionId: string, text: string | null, open = this.opened(questionId)): string | null {
    const requestId = questionId.slice(0, questionId.lastIndexOf("."));
    const question = open?.questions.find(({ request_id }) => request_id === questionId);
    if (!open || !question || this.#open.get(requestId) !== open) return null;
    if (text === null) {
      this.#open.delete(requestId);
      return answer(requestId, { behavior: "deny", message: "No one answered." });
    }
    open.answers[question.question] = text;
    if (Object.keys(open.answers).length < open.questions.length) return null;
    this.#open.delete(requestId);
    return answer(requestId, { behavior: "allow", updatedInput: { ...fieldsOf(open.input), answers: open.answers } });
  }
}

/** The lines that come before the first prompt: the greeting with what is added to the system prompt, the tools that must ask. */
export function openingLines(
  { ask, system, schema = null }: { ask: readonly string[]; system: string | null; schema?: JsonFields | null },
): string {
  // It takes the place of the option --append-system-prompt.
  const added = { appendSystemPrompt: system ?? undefined, jsonSchema: schema ?? undefined };
  const initialize = { subtype: "initialize", hooks: {}, ...added };
  const greeting = { type: "control_request", request_id: "initialize", request: initialize };
  const settings = {
    type: "control_request",
    request_id: "settings",
    request: { subtype: "apply_flag_settings", settings: { permissions: { ask } } },
  };
  return line(greeting) + (ask.length === 0 ? "" : line(settings));
}

/** The line that asks the program for a setting from then on. */
export function settingLine(request: JsonFields): string {
  return line({ type: "control_request", request_id: `setting-${crypto.randomUUID()}`, request });
}

/** The line that asks the program to stop what it does; it goes on to wait for a prompt. */
export function interruptLine(): string {
  return line({
    type: "control_request",
    request_id: `interrupt-${crypto.randomUUID()}`,
    request: { subtype: "interrupt" },
  });
}

function permissionRequest(id: string, about: { tool: string; request: JsonFields }): PermissionRequestEvent {
  const { tool, request } = about;
  const called = textOf(request["display_name"]) ?? tool;
  const what = textOf(request["title"]) ?? textOf(request["description"]);
  const call_id = textOf(request["tool_use_id"]);
  const lasting = objectsOf(request["permission_suggestions"]).length > 0;
  return {
    type: "permission_request",
    request_id: id,
    tool,
    title: (what === undefined ? called : `${called}: ${what}`).slice(0, 1024),
    kind: kindOfTool(tool),
    ...(call_id === undefined ? {} : { call_id }),
    input: request["input"] ?? null,
    options: lasting ? [...once, always] : [...once],
  };
}

function questionEvents(id: string, request: JsonFields): QuestionEvent[] {
  const asked = new Map<string, string[]>();
  const call_id = textOf(request["tool_use_id"]);
  for (const one of objectsOf(fieldsOf(request["input"])?.["questions"])) {
    const question = textOf(one["question"]);
    const options = objectsOf(one["options"]).flatMap((option) => textOf(option["label"])?.slice(0, 1024) ?? []);
    if (question !== undefined) asked.set(question, options.slice(0, 64));
  }
  return [...asked].map(([question, options], index) => ({
    type: "question",
    request_id: `${id}.${index}`,
    ...(call_id === undefined ? {} : { call_id }),
    question,
    ...(options.length === 0 ? {} : { options }),
  }));
}

function answer(requestId: string, response: JsonFields): string {
  return line({ type: "control_response", response: { subtype: "success", request_id: requestId, response } });
}

function refusal(requestId: string): string {
  const error = "This client does not know requests of this kind.";
  return line({ type: "control_response", response: { subtype: "error", request_id: requestId, error } });
}

function line(message: JsonFields): string {
  return `${JSON.stringify(message)}\n`;
}
