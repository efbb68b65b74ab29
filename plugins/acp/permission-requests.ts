import {
  type AdapterContext,
  type AdapterEvent,
  type JsonFields,
  objectsOf,
  PermissionAnswers,
  rpcCodes,
  RpcError,
  textOf,
} from "bulkhead/plugin-sdk";
import { permissionId } from "./update-reader.ts";

/** The agent's requests for permission: each is told to the host, and answered with what comes of it. */
export class PermissionRequests {
  readonly #ctx: Pick<AdapterContext, "permission">;
  #answers: PermissionAnswers;

  constructor(ctx: Pick<AdapterContext, "permission">) {
    this.#ctx = ctx;
    this.#answers = new PermissionAnswers(ctx);
  }

  /** Whether something was not permitted in this turn. */
  get rejected(): boolean {
    return this.#answers.rejected;
  }

  /** Takes requests again, after {@link close}. */
  nextTurn(): void {
    this.#answers = new PermissionAnswers(this.#ctx);
  }

  /**
   * Returns the events of a request. One that cannot be put to a person is denied, which is told.
   * @param read turns the request into events; null where it cannot be understood
   */
  begin(message: JsonFields, read: (message: JsonFields) => AdapterEvent[] | null): AdapterEvent[] {
    // Nothing could tell to which of two requests with one id an answer belongs: both get a no.
    const withdrawn = this.withdraw(message["id"]);
    const isTwice = withdrawn.length > 0;
    const isAnswerable = ["string", "number"].includes(typeof message["id"]);
    const events = isTwice || !isAnswerable ? null : read(message);
    if (events !== null) {
      this.#answers.begin(permissionId(message["id"]));
      return events;
    }
    const why = isTwice ? "another one with its id was open" : "it cannot be understood";
    const what = isAnswerable ? `was denied: ${why}` : "has no id, so no answer can reach the agent";
    return [
      ...withdrawn,
      { type: "unparsed", data: message },
      { type: "progress", message: `A request of the agent for permission ${what}.` },
    ];
  }

  /** An event has reached the host. */
  told(event: AdapterEvent): void {
    if (event.type === "permission_request") this.#answers.ask(event.request_id);
  }

  /** Answers the request, once there is an answer. */
  async answer({ id, params }: { id: unknown; params: JsonFields }): Promise<object> {
    const outcome = await this.#answers.wait(permissionId(id));
    if (outcome === "withdrawn") throw new RpcError(rpcCodes.cancelled, "Request cancelled");
    // Without a way to say no, this is a denial; else it means that the whole turn is cancelled.
    const optionId = outcome === "closed" ? undefined : outcome?.id ?? refusalIn(params);
    return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
  }

  /** Closes an open request that the agent no longer waits for. */
  withdraw(requestId: unknown): AdapterEvent[] {
    const request_id = permissionId(requestId);
    return this.#answers.withdraw(request_id) ? [{ type: "request_withdrawn", request_id }] : [];
  }

  /** Ends all open requests with the turn, as cancelled. */
  close(): AdapterEvent[] {
    return this.#answers.close().map((request_id) => ({ type: "request_withdrawn", request_id }));
  }
}

/** The option of a request for permission that says no, and nothing else; undefined where it offers none. */
function refusalIn({ options }: JsonFields): string | undefined {
  const all = objectsOf(options);
  const offered = all.filter(({ optionId }) => all.filter((one) => one["optionId"] === optionId).length === 1);
  const [once] = ["reject_once", "reject_always"].flatMap((kind) =>
    offered.filter((option) => option["kind"] === kind)
  );
  return textOf(once?.["optionId"]);
}
