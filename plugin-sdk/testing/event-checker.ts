import { Errors } from "@sinclair/typebox/errors";
import { Check } from "@sinclair/typebox/value";
import { type AdapterEvent, adapterEventSchemas, type AdapterEventType } from "../events.ts";

/** Checks a session's events against the contract and lists violations as sentences. */
export class EventChecker {
  readonly violations: string[] = [];
  readonly #openCalls = new Set<string>();
  readonly #seenCalls = new Set<string>();
  readonly #requests = new Set<string>();
  #count = 0;
  #ended = false;
  #turn = 1;

  /**
   * Checks the next yielded event; returns it as a client would see it, or null if it cannot reach one.
   * @param turn number of the turn that the adapter asked for last
   */
  check(yielded: unknown, turn = 1): AdapterEvent | null {
    if (turn > this.#turn) {
      this.#next();
      this.#turn = turn;
    }
    this.#count++;
    let event: unknown;
    try {
      // A round trip loses what JSON cannot carry, as on the way to the host.
      event = JSON.parse(JSON.stringify(yielded) ?? "null");
    } catch (error) {
      this.#violate(`is not JSON: ${String(error)}`);
      return null;
    }
    if (!this.#fits(event)) return null;
    if (this.#ended && event.type === "turn_began") this.#next();
    // A message may have come when the last word was on its way.
    if (this.#ended && event.type !== "message") this.#violate(`of type "${event.type}" follows the last word`);
    this.#follow(event);
    return event;
  }

  /** Checks the end of the session, or of a turn. */
  end(): void {
    const what = this.#turn === 1 ? "The session" : `Turn ${this.#turn}`;
    if (!this.#ended) this.violations.push(`${what} has no last word: no "completed" and no "error".`);
    for (const id of this.#openCalls) this.violations.push(`Tool call "${id}" has no result.`);
  }

  #next(): void {
    this.end();
    this.#ended = false;
    this.#openCalls.clear();
  }

  #fits(event: unknown): event is AdapterEvent {
    const type: unknown = typeof event === "object" && event !== null ? Reflect.get(event, "type") : undefined;
    if (typeof type !== "string" || !Object.hasOwn(adapterEventSchemas, type)) {
      this.#violate(`has the unknown type ${JSON.stringify(type)}`);
      return false;
    }
    const schema = adapterEventSchemas[type as AdapterEventType];
    if (Check(schema, event)) return true;
    const fault = Errors(schema, event).First();
    this.#violate(`of type "${type}" does not fit its schema at "${fault?.path}": ${fault?.message}`);
    return false;
  }

  #follow(event: AdapterEvent): void {
    if (event.type === "completed" || event.type === "error") this.#ended = true;
    if (event.type === "tool_call") {
      if (this.#seenCalls.has(event.call_id)) this.#violate(`repeats the call_id "${event.call_id}"`);
      this.#seenCalls.add(event.call_id);
      this.#openCalls.add(event.call_id);
    }
    if (event.type === "permission_request" || event.type === "question") this.#requests.add(event.request_id);
    if (event.type === "request_withdrawn" && !this.#requests.has(event.request_id)) {
      this.#violate(`takes back no request: "${event.request_id}"`);
    }
    if (event.type === "tool_result" && !this.#openCalls.delete(event.call_id)) {
      this.#violate(`answers no open tool call: "${event.call_id}"`);
    }
  }

  #violate(fault: string): void {
    this.violations.push(`Event ${this.#count} ${fault}.`);
  }
}
