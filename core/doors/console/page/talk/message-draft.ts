import { type Signal, signal } from "@preact/signals";
import type { MessageReport, SaidMessage } from "../../../../../plugin-sdk/conversation.ts";
import type { AttachmentPart, Delivery, Part } from "../../../../../plugin-sdk/messages.ts";
import { type HostApi, RefusedCall } from "../api.ts";
import type { AttachedFiles } from "./attached-files.ts";
import type { DraftStore, TriedMessage } from "./draft-store.ts";

/** Progress of a message on its way to the host. `waiting`: the host cannot take it now, and it is tried again. */
type DraftState =
  | { kind: "typing" }
  | { kind: "sending" }
  | { kind: "waiting"; why: string }
  | { kind: "refused"; text: string; hint?: string | undefined }
  | { kind: "told"; text: string };

interface MessageDraftDeps {
  api: Pick<HostApi, "get" | "send">;
  store: Pick<DraftStore, "read" | "write" | "follow">;
  files: Pick<AttachedFiles, "list" | "parts" | "clear">;
}

/** From one try to the next while the host cannot take it. Milliseconds. */
const retryMs = 1000;

/**
 * The words that a person types for one conversation. Each message has an id before it is sent first, and keeps it until the
 * host has answered, also over a reload of the page: so a message whose answer was lost is never given twice.
 */
export class MessageDraft {
  readonly text: Signal<string>;
  readonly state: Signal<DraftState> = signal<DraftState>({ kind: "typing" });
  readonly #deps: MessageDraftDeps;
  readonly #id: string;
  readonly #leave: () => void;
  /** A message that the host may have. */
  #tried: TriedMessage | null;
  /** Ends the tries under way. */
  #over: AbortController | null = null;

  constructor(deps: MessageDraftDeps, conversationId: string) {
    this.#deps = deps;
    this.#id = conversationId;
    const kept = deps.store.read(conversationId);
    this.text = signal(kept?.text ?? "");
    this.#tried = kept?.tried ?? null;
    this.#leave = deps.store.follow(conversationId, () => this.#adopt());
    if (this.#tried !== null) void this.#settle().catch(() => {});
  }

  type(text: string): void {
    if (this.isBusy) return;
    this.text.value = text;
    if (this.state.value.kind !== "typing") this.state.value = { kind: "typing" };
    this.#keep();
  }

  /** Whether a message is on its way: its words stay as they are until then. */
  get isBusy(): boolean {
    return this.state.value.kind === "sending" || this.state.value.kind === "waiting";
  }

  /** Whether there is nothing to send. */
  get isEmpty(): boolean {
    return this.text.value.trim() === "" && this.#deps.files.list.value.length === 0;
  }

  /** Sends what is typed, and tries again while the host cannot take it. Returns where it is; null where it is not sent. */
  async send(delivery: Delivery, agent: string | null = null): Promise<SaidMessage | null> {
    const text = this.text.value;
    if (this.isEmpty || this.isBusy) return null;
    this.state.value = { kind: "sending" };
    const over = this.#over = new AbortController();
    try {
      for (;;) {
        const said = await this.#try({ text, delivery, agent }, over.signal);
        if (!(said instanceof RefusedCall)) return said;
        if (!over.signal.aborted) this.state.value = { kind: "waiting", why: said.message };
        await pause(retryMs, over.signal);
        if (over.signal.aborted) return null;
      }
    } finally {
      if (this.#over === over) this.#over = null;
    }
  }

  /** Ends the tries: the words can be changed again. The host may have the message nevertheless, which is asked later. */
  cancel(): void {
    this.#over?.abort();
    this.state.value = { kind: "typing" };
  }

  /** Adds words of a message that could not be changed any more. */
  add(text: string): void {
    const before = this.text.value;
    this.type(before.trim() === "" ? text : `${before}\n\n${text}`);
  }

  close(): void {
    this.#over?.abort();
    this.#leave();
  }

  async #try(
    { text, delivery, agent }: Pick<TriedMessage, "text" | "delivery" | "agent">,
    signal: AbortSignal,
  ): Promise<SaidMessage | null | RefusedCall> {
    try {
      const attached = await this.#deps.files.parts();
      const isOther = this.#tried !== null && !isSame(this.#tried, { text, delivery, attached, agent });
      if (isOther && await this.#settle()) return null;
      if (isOther) this.#tried = null;
      const tried = this.#tried ??= { id: newId(), text, delivery, attached, agent };
      this.#keep();
      const path = `/v1/conversations/${encodeURIComponent(this.#id)}/messages`;
      const content = attached.length === 0 ? { text } : { content: contentOf(text, attached) };
      const said = await this.#deps.api.send<SaidMessage>("POST", path, {
        message_id: tried.id,
        ...content,
        delivery,
        ...(agent === null ? {} : { with: { agent } }),
      });
      this.#arrived(said, tried);
      return said;
    } catch (error) {
      // No answer, or a daemon that starts or stops.
      const isAway = error instanceof RefusedCall && (error.status === 0 || error.status === 503);
      if (isAway) return signal.aborted ? null : error;
      this.#refused(error);
      return null;
    }
  }

  #arrived({ state }: Pick<SaidMessage, "state">, { text, attached }: TriedMessage): void {
    this.#tried = null;
    if (state === "dropped") {
      this.state.value = {
        kind: "refused",
        text: "The host had the message and dropped it, so the agent may not have seen it.",
        hint: "Look at the timeline, and send it again if it is still wanted.",
      };
    } else {
      if (this.text.value === text) this.text.value = "";
      this.#deps.files.clear(attached);
      this.state.value = { kind: "typing" };
    }
    this.#keep();
  }

  #refused(error: unknown): void {
    // A host that fails may have taken it: the same message keeps its id.
    if (error instanceof RefusedCall && error.status < 500) this.#tried = null;
    const hint = error instanceof RefusedCall ? error.hint : undefined;
    this.state.value = { kind: "refused", text: error instanceof Error ? error.message : String(error), hint };
    this.#keep();
  }

  /**
   * Asks the host whether it has the message whose answer did not come; true where it has.
   * @throws {RefusedCall}
   */
  async #settle(): Promise<boolean> {
    const tried = this.#tried;
    if (tried === null) return false;
    const path = `/v1/conversations/${encodeURIComponent(this.#id)}/messages`;
    const { messages } = await this.#deps.api.get<{ messages: MessageReport[] }>(path);
    if (this.#tried !== tried) return false;
    const found = messages.find(({ message_id }) => message_id === tried.id);
    // It keeps its id, as long as it is the same message.
    if (found === undefined) return false;
    if (found.state === "dropped" || this.text.value === tried.text) this.#arrived(found, tried);
    else {
      this.#tried = null;
      this.#keep();
      this.state.value = {
        kind: "told",
        text: "Your message as it was before this change has arrived. Send this one too if it is still wanted.",
      };
    }
    return true;
  }

  /** Takes what another tab of this browser has typed. */
  #adopt(): void {
    if (this.isBusy) return;
    const kept = this.#deps.store.read(this.#id);
    this.text.value = kept?.text ?? "";
    this.#tried = kept?.tried ?? null;
  }

  #keep(): void {
    this.#deps.store.write(this.#id, { text: this.text.value, tried: this.#tried });
  }
}

/** Makes the parts of a message. */
export function contentOf(text: string, attached: readonly AttachmentPart[]): Part[] {
  return [...(text.trim() === "" ? [] : [{ type: "text" as const, text }]), ...attached];
}

type Words = Omit<TriedMessage, "id">;

function isSame(one: Words, other: Words): boolean {
  const hashes = ({ attached }: Words) => attached.map(({ sha256 }) => sha256).join();
  const isAlike = one.text === other.text && one.delivery === other.delivery && one.agent === other.agent;
  return isAlike && hashes(one) === hashes(other);
}

/** Makes an id. `randomUUID` is only there for pages of this machine. */
export function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
