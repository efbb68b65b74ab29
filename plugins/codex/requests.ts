import {
  type AdapterEvent,
  fieldsOrNone,
  type JsonFields,
  listOf,
  objectsOf,
  type PermissionOption,
  type PermissionRequestEvent,
  stringOf,
  textOf,
} from "bulkhead/plugin-sdk";
import type { OpenCall } from "./thread-reader.ts";

/** Outcome of a request for permission: the option that was chosen; null: no; `closed`: its turn is over. */
type Outcome = PermissionOption | "withdrawn" | "closed" | null;

/** Facts about a request besides its own fields. */
interface Known {
  /** Calls without a result, the newest last. */
  openCalls: readonly OpenCall[];
  /** Whether Codex's sandbox lets its commands write nothing: what is permitted runs outside of it. */
  isReadOnly: boolean;
}

/** One kind of request for permission. */
interface Approval {
  event(params: JsonFields, known: Known): Omit<PermissionRequestEvent, "type" | "request_id"> | null;
  /** Codex's form of an outcome. */
  answer(outcome: Outcome): JsonFields;
}

const once: PermissionOption = { id: "accept", label: "Allow", kind: "allow_once" };
const session: PermissionOption = { id: "acceptForSession", label: "Allow for this session", kind: "allow_always" };
const no: PermissionOption = { id: "decline", label: "Deny", kind: "reject_once" };

/** Requests for permission, by method. */
export const approvals: Readonly<Record<string, Approval>> = {
  "item/commandExecution/requestApproval": {
    event(params, { openCalls, isReadOnly }) {
      const command = textOf(params["command"]) ?? "";
      const what = params["kind"] === "writeStdin" ? "Write to a running command" : "Run";
      const where = isReadOnly ? " outside of the read-only sandbox" : "";
      const { reason, cwd, networkApprovalContext } = params;
      return {
        tool: "shell",
        title: titleOf(`${what}${where}: ${command}`, reason),
        kind: "execute",
        ...(openCalls.some(({ call_id }) => call_id === params["itemId"]) ? { call_id: String(params["itemId"]) } : {}),
        input: {
          command,
          cwd: cwd ?? null,
          ...(networkApprovalContext ? { network: networkApprovalContext } : {}),
        },
        options: [once, ...(listOf(params["availableDecisions"]).includes(session.id) ? [session] : []), no],
      };
    },
    answer: (outcome) => ({ decision: decisionOf(outcome) }),
  },
  "item/fileChange/requestApproval": {
    event(params, { openCalls, isReadOnly }) {
      // A yes would carry it past the sandbox, which lets nothing be written.
      if (isReadOnly) return null;
      const call = openCalls.find(({ call_id }) => call_id === params["itemId"]);
      const paths = objectsOf(fieldsOrNone(call?.input)["changes"]).flatMap(({ path }) => textOf(path) ?? []);
      const root = textOf(params["grantRoot"]);
      const what = root === undefined ? paths.join(", ") || "files" : `anything below ${root}`;
      return {
        tool: "apply_patch",
        title: titleOf(`Change ${what}`, params["reason"]),
        kind: "edit",
        ...(call === undefined ? {} : { call_id: call.call_id, input: call.input }),
        options: [once, session, no],
      };
    },
    answer: (outcome) => ({ decision: decisionOf(outcome) }),
  },
  // Codex asks so whether a tool of a server may run; a form that a server wants filled in is declined.
  "mcpServer/elicitation/request": {
    event(params, { openCalls }) {
      if (fieldsOrNone(params["_meta"])["codex_approval_kind"] !== "mcp_tool_call") return null;
      const server = textOf(params["serverName"]) ?? "mcp";
      const call = openCalls.findLast(({ tool }) => tool.startsWith(`${server}.`));
      return {
        tool: call?.tool ?? server,
        title: textOf(params["message"])?.slice(0, 1024) ?? `Use a tool of ${server}`,
        kind: "other",
        ...(call === undefined ? {} : { call_id: call.call_id, input: call.input }),
        options: [once, no],
      };
    },
    answer: (outcome) => ({ action: actionOf(outcome), content: null, _meta: null }),
  },
  // More rights for all commands of a turn: there is no way to say which.
  "item/permissions/requestApproval": {
    event: () => null,
    answer: () => ({ permissions: {}, scope: "turn" }),
  },
};

/** The method by which Codex asks a person something. */
export const questionMethod = "item/tool/requestUserInput";

/** A question of a request, and its name there. */
interface Question {
  name: string;
  event: AdapterEvent & { type: "question" };
}

/** The questions of a request, without those for a secret. */
export function questionsOf(id: string, { questions }: JsonFields): Question[] {
  return objectsOf(questions).flatMap(({ id: name, question, options, isSecret }): Question[] => {
    const [named, asked] = [stringOf(name), textOf(question)];
    if (named === null || asked === undefined || isSecret === true) return [];
    const labels = objectsOf(options).flatMap(({ label }) => textOf(label) ?? []);
    return [{
      name: named,
      event: {
        type: "question",
        request_id: `${id}-${named}`.slice(0, 256),
        question: asked,
        ...(labels.length === 0 ? {} : { options: labels }),
      },
    }];
  });
}

/** The host's name of a request, by the one that Codex gave it. */
export function requestIdOf(id: unknown): string {
  return `codex-${String(id)}`;
}

function titleOf(what: string, reason: unknown): string {
  const why = textOf(reason);
  return (why === undefined ? what : `${what} (${why})`).slice(0, 1024);
}

function decisionOf(outcome: Outcome): string {
  if (outcome === "withdrawn" || outcome === "closed") return "cancel";
  return outcome?.id ?? no.id;
}

function actionOf(outcome: Outcome): string {
  if (outcome === "withdrawn" || outcome === "closed") return "cancel";
  return outcome?.id === once.id ? "accept" : "decline";
}
