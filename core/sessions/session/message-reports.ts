import type { MessageReport } from "../../../plugin-sdk/conversation.ts";
import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";

/** The messages of one session as clients see them, made of its events. */
export class MessageReports {
  readonly #sessionId: string;
  readonly #reports = new Map<string, MessageReport>();

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** Returns them in the order of their acceptance. */
  get all(): MessageReport[] {
    return [...this.#reports.values()].map((report) => ({ ...report }));
  }

  /** Whether a message of this id was accepted. */
  has(messageId: string): boolean {
    return this.#reports.has(messageId);
  }

  /** Returns the message of an id that was accepted. */
  of(messageId: string): MessageReport {
    return { ...this.#reports.get(messageId)! };
  }

  /** Takes an event that is about to be written. */
  take(event: HostEvent): void {
    if (event.type === "message_accepted") {
      const { message_id, delivery, content, by } = event;
      const session_id = this.#sessionId;
      const accepted_at = new Date().toISOString();
      this.#reports.set(message_id, { message_id, session_id, state: "pending", delivery, content, by, accepted_at });
    }
    const report = "message_id" in event ? this.#reports.get(event.message_id) : undefined;
    if (report === undefined) return;
    if (event.type === "message_changed") report.content = event.content;
    if (event.type === "message_sent") Object.assign(report, { state: "sent", turn: event.turn });
    if (event.type === "message_delivered") {
      Object.assign(report, { state: "delivered", turn: event.turn, how: event.how });
    }
    if (event.type === "message_dropped") {
      Object.assign(report, { state: "dropped", reason: event.reason, ...omitUndefined({ to: event.to }) });
    }
  }

  /** Shows these as waiting again. */
  returned(pending: readonly { message_id: string }[]): void {
    for (const { message_id } of pending) {
      const report = this.#reports.get(message_id);
      if (report?.state !== "sent") continue;
      report.state = "pending";
      delete report.turn;
    }
  }
}
