import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  type RequestId,
  SUBSCRIPTION_ID_META_KEY,
} from "@modelcontextprotocol/server";
import { type Static, Type } from "@sinclair/typebox";
import { fieldsOrNone } from "../../../plugin-sdk/json-fields.ts";
import { omitEmpty, omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { inputError } from "../../ground/config/input-error.ts";
import { invalid } from "./refusals.ts";
import { asksForms } from "./stated-capabilities.ts";
import type { McpSurface } from "./surface.ts";
import { demandTasks, type McpTasks } from "./task-methods.ts";

/** Tasks, or resources, that one request may watch. Further ones are left out of its acknowledgement. */
const mostWatched = 64;

const filterSchema = Type.Object({
  taskIds: Type.Optional(Type.Array(Type.String())),
  resourceSubscriptions: Type.Optional(Type.Array(Type.String())),
});
const check = lazyCheck(filterSchema);

/** Keeps the library's stream open for a request that watches tasks alone: the library does not know them. */
const placeholder = "bulkhead://tasks";

const acknowledgement = "notifications/subscriptions/acknowledged";

/** Sends a message to the client; resolves when the client can take more. */
type Send = (message: JSONRPCNotification) => Promise<void>;

/**
 * Reads a request `subscriptions/listen` that watches tasks or resources: the library acknowledges it, and sends news of
 * neither. Null for every other message. Returns the protocol's error for a request that may not do so.
 */
export async function readListen(
  message: unknown,
  { tasks, resources }: Pick<McpSurface, "tasks" | "resources">,
): Promise<NewsSubscription | JSONRPCErrorResponse | null> {
  if (!isJSONRPCRequest(message) || message.method !== "subscriptions/listen") return null;
  const { _meta, notifications } = fieldsOrNone(message.params);
  const meta = fieldsOrNone(_meta);
  // The older protocol does not have this method.
  if (meta[PROTOCOL_VERSION_META_KEY] === undefined) return null;
  const wanted = fieldsOrNone(notifications);
  if (wanted["taskIds"] === undefined && wanted["resourceSubscriptions"] === undefined) return null;
  const capabilities = meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  try {
    if (wanted["taskIds"] !== undefined) demandTasks(capabilities);
    if (!check().Check(wanted)) throw invalid(inputError("notifications", filterSchema, wanted).message);
    const { taskIds = [], resourceSubscriptions = [] }: Static<typeof filterSchema> = wanted;
    const canAsk = asksForms(capabilities);
    const known = await Promise.all(
      [...new Set(taskIds)].slice(0, mostWatched).map(async (taskId) =>
        await tasks?.get(taskId, { canAsk }).then(() => [taskId], () => []) ?? []
      ),
    );
    const uris = [...new Set(resourceSubscriptions)].slice(0, mostWatched);
    return new NewsSubscription(message, { taskIds: known.flat(), uris, canAsk, tasks, resources });
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const { code, message: text, data } = error;
    return { jsonrpc: "2.0", id: message.id, error: { code, message: text, ...omitUndefined({ data }) } };
  }
}

interface Watched extends Pick<McpSurface, "resources"> {
  tasks: McpTasks | undefined;
  taskIds: readonly string[];
  uris: readonly string[];
  canAsk: boolean;
}

/** A client that listens to tasks and resources, from its request to its end. */
export class NewsSubscription {
  /** The request as the library takes it. */
  readonly request: JSONRPCRequest;
  readonly #watched: Watched;
  readonly #left = new AbortController();
  #ends: (() => void)[] = [];

  constructor(request: JSONRPCRequest, watched: Watched) {
    const { notifications } = fieldsOrNone(request.params);
    const resourceSubscriptions = [...watched.uris, ...(watched.taskIds.length > 0 ? [placeholder] : [])];
    const filter = { ...fieldsOrNone(notifications), resourceSubscriptions };
    this.request = { ...request, params: { ...request.params, notifications: filter } };
    this.#watched = watched;
  }

  get id(): RequestId {
    return this.request.id;
  }

  /** Completes the library's acknowledgement. */
  acknowledged(message: JSONRPCNotification): JSONRPCNotification {
    const { taskIds, uris } = this.#watched;
    const { resourceSubscriptions: _, ...honored } = fieldsOrNone(fieldsOrNone(message.params)["notifications"]);
    const notifications = { ...honored, ...omitEmpty({ taskIds, resourceSubscriptions: uris }) };
    return { ...message, params: { ...message.params, notifications } };
  }

  /** Sends news until it ends. */
  start(send: Send): void {
    const { tasks, taskIds, resources, uris } = this.#watched;
    const tell = async (method: string, params: object) => {
      const _meta = { [SUBSCRIPTION_ID_META_KEY]: this.id };
      if (!this.#left.signal.aborted) await send({ jsonrpc: "2.0", method, params: { ...params, _meta } });
    };
    for (const taskId of taskIds) void this.#follow(taskId, tasks!, tell).catch(() => {});
    for (const uri of uris) {
      const stop = resources.watch(uri, () => void tell("notifications/resources/updated", { uri }).catch(() => {}));
      if (stop !== null) this.#ends.push(stop);
    }
  }

  end(): void {
    this.#left.abort();
    for (const stop of this.#ends.splice(0)) stop();
  }

  /** A task that is deleted meanwhile has no news. */
  async #follow(
    taskId: string,
    tasks: McpTasks,
    tell: (method: string, params: object) => Promise<void>,
  ): Promise<void> {
    const { canAsk } = this.#watched;
    for await (const task of tasks.states(taskId, { canAsk, signal: this.#left.signal })) {
      await tell("notifications/tasks", task);
    }
  }
}

/** Requests that listen over one connection of messages. */
export class Listeners {
  readonly #open = new Map<RequestId, NewsSubscription>();

  /** Notes what a message of the client means for them. Returns it as the library takes it, or the client's answer. */
  async take(
    message: JSONRPCMessage,
    surface: McpSurface,
  ): Promise<{ pass: JSONRPCMessage } | { answer: JSONRPCMessage }> {
    if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
      this.#end(message.params?.["requestId"]);
    }
    const read = await readListen(message, surface);
    if (read === null) return { pass: message };
    if (!(read instanceof NewsSubscription)) return { answer: read };
    this.#end(read.id);
    this.#open.set(read.id, read);
    return { pass: read.request };
  }

  /** Finds the request that a message of the library acknowledges. */
  acknowledgedBy(message: JSONRPCMessage): { listening: NewsSubscription; notification: JSONRPCNotification } | null {
    if (!isJSONRPCNotification(message) || message.method !== acknowledgement) return null;
    const listening = this.#open.get(fieldsOrNone(message.params?._meta)[SUBSCRIPTION_ID_META_KEY] as RequestId);
    return listening === undefined ? null : { listening, notification: message };
  }

  close(): void {
    for (const id of this.#open.keys()) this.#end(id);
  }

  #end(id: unknown): void {
    this.#open.get(id as RequestId)?.end();
    this.#open.delete(id as RequestId);
  }
}
