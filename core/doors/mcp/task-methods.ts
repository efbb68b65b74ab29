import {
  type ClientCapabilities,
  MissingRequiredClientCapabilityError,
  type Server,
  type ServerContext,
  type StandardSchemaV1,
} from "@modelcontextprotocol/server";
import { type Static, Type } from "@sinclair/typebox";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { inputError } from "../../ground/config/input-error.ts";
import type { FormAnswer } from "./forms.ts";
import { invalid } from "./refusals.ts";
import { statedCapabilities } from "./stated-capabilities.ts";

/** Name of the extension, as its specification of 2026-07-28 has it. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** One task, with what its state adds: `inputRequests` or `result`. */
export interface McpTask {
  taskId: string;
  status: "working" | "input_required" | "completed" | "cancelled";
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: number | null;
  pollIntervalMs: number;
  inputRequests?: Record<string, unknown>;
  result?: Record<string, unknown>;
}

/** Tasks of one client. Each function throws the protocol's error for a task that the client may not see. */
export interface McpTasks {
  get(taskId: string, client: { canAsk: boolean }): Promise<McpTask>;
  /** Returns a task's states, from the one now to its last one or the signal's abort. */
  states(taskId: string, client: { canAsk: boolean; signal: AbortSignal }): AsyncIterable<McpTask>;
  /** Takes what the client's person said; what is not asked is left out. */
  update(taskId: string, forms: Readonly<Record<string, FormAnswer>>): Promise<void>;
  cancel(taskId: string): Promise<void>;
}

const taskInput = Type.Object({ taskId: Type.String({ minLength: 1, maxLength: 64 }) });
const formsInput = Type.Record(
  Type.String(),
  Type.Object({
    action: Type.Union([Type.Literal("accept"), Type.Literal("decline"), Type.Literal("cancel")]),
    content: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
  { maxProperties: 256 },
);
const checkTask = lazyCheck(taskInput);
const checkForms = lazyCheck(formsInput);

/** Returns whether the client declared tasks with this request. What an earlier request declared does not count. */
export function declaresTasks(capabilities: ClientCapabilities | undefined): boolean {
  return capabilities?.extensions?.[tasksExtension] !== undefined;
}

/** Serves the extension's methods. */
export function serveTasks(server: Server, tasks: McpTasks, canAsk: (context: ServerContext) => boolean): void {
  server.setRequestHandler("tasks/get", { params: ofTask }, async ({ taskId }, context) => {
    demandTasks(statedCapabilities(context));
    return { ...await tasks.get(taskId, { canAsk: canAsk(context) }) };
  });
  server.setRequestHandler("tasks/update", { params: ofTask }, async ({ taskId }, context) => {
    demandTasks(statedCapabilities(context));
    // The library takes them out of the parameters, as it does those of a call that is repeated.
    const forms: unknown = context.mcpReq.inputResponses;
    if (!checkForms().Check(forms)) throw invalid(inputError("inputResponses", formsInput, forms).message);
    await tasks.update(taskId, forms);
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params: ofTask }, async ({ taskId }, context) => {
    demandTasks(statedCapabilities(context));
    await tasks.cancel(taskId);
    return {};
  });
}

/** @throws {MissingRequiredClientCapabilityError} the request does not declare tasks */
export function demandTasks(capabilities: ClientCapabilities | undefined): void {
  if (declaresTasks(capabilities)) return;
  throw new MissingRequiredClientCapabilityError(
    { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
    `The request does not declare the extension ${tasksExtension}.`,
  );
}

/** The parameters of each method, in the form in which the library takes a schema. */
const ofTask: StandardSchemaV1<unknown, Static<typeof taskInput>> = {
  "~standard": {
    version: 1,
    vendor: "bulkhead",
    validate: (value) =>
      checkTask().Check(value)
        ? { value }
        : { issues: [{ message: inputError("The parameters", taskInput, value).message }] },
  },
};
