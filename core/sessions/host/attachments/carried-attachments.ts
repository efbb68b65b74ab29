import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { AttachmentPart } from "../../../../plugin-sdk/messages.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import { nullIfNotFound, toErrorData } from "../../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../../ground/log/log-record.ts";
import { sha256HexInTurns } from "../../../ground/platform/files/hash.ts";
import type { SharedBytes } from "../host-seams.ts";
import type { MessageCaller } from "../session-host.ts";
import type { AttachmentStore } from "./attachment-store.ts";

interface CarriedDeps {
  store: Pick<AttachmentStore, "add" | "check" | "read">;
  /** Absent: this host is alone. */
  shared?: SharedBytes | undefined;
  writeLog(record: LogRecord): void;
}

/** Images and files on their way between the hosts of a cluster. Each host keeps its own in its store. */
export class CarriedAttachments {
  readonly #deps: CarriedDeps;

  constructor(deps: CarriedDeps) {
    this.#deps = deps;
  }

  /**
   * Puts what a client names where the other hosts can read it, if that client may name it here.
   * @throws {BulkheadError} as `AttachmentStore.check`; `unavailable`, `limit_exceeded`
   */
  async carry(parts: readonly AttachmentPart[], caller: MessageCaller): Promise<void> {
    const { store } = this.#deps;
    for (const { sha256 } of await store.check(parts, caller)) await this.#put(sha256);
  }

  /**
   * Takes what another host has carried, or has kept for its sessions, as uploads of a client. Who may name it was checked
   * there.
   * @throws {BulkheadError} `not_found` for what is kept no more, `io_error`, `limit_exceeded`, `unavailable`
   */
  async bring(parts: readonly AttachmentPart[], { client }: Pick<MessageCaller, "client"> = {}): Promise<void> {
    for (const { sha256 } of parts) await this.#deps.store.add([await this.#bytesOf(sha256)], { client });
  }

  /** Puts what a session names where another host finds it that goes on with it. Does not wait, and never fails it. */
  keepFor(session_id: string, { resume }: SessionRequest, parts: readonly AttachmentPart[]): void {
    const { shared, writeLog } = this.#deps;
    if (shared === undefined || resume !== "after_restart" || parts.length === 0) return;
    Promise.all(parts.map(({ sha256 }) => this.#put(sha256))).catch((error: unknown) => {
      const message = `Another machine could not go on with the attachments: ${toErrorData(error).message}`;
      writeLog({ level: "warn", message, session_id });
    });
  }

  async #put(sha256: string): Promise<void> {
    const { store, shared } = this.#deps;
    await shared?.put(sha256, async () => (await store.read(sha256)).bytes);
  }

  async #bytesOf(sha256: string): Promise<Uint8Array> {
    const { store, shared } = this.#deps;
    const own = await store.read(sha256).catch(nullIfNotFound);
    const bytes = own?.bytes ?? await shared?.get(sha256) ?? null;
    if (bytes !== null && await sha256HexInTurns([bytes]) === sha256) return bytes;
    throw new BulkheadError("not_found", `Cannot take attachment "${sha256.slice(0, 12)}": no machine shares it.`, {
      hint: "Upload it again, and name it in a new message.",
    });
  }
}
