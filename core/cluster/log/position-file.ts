import { parseJson } from "../../../plugin-sdk/json-fields.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import { type LogPosition, logStart } from "./log-entry.ts";

/** How often a position is written. Milliseconds. */
const everyMs = 1000;

/** Keeps how far a local copy has come in a machine's log. It may lag behind, and must never be ahead. */
export class PositionFile {
  readonly #file: string;
  #noted: LogPosition | null = null;
  #cancel: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Returns the noted position; the start where there is none.
   * @throws the error of a file that cannot be read
   */
  async read(): Promise<LogPosition> {
    const bytes = await readPlainFile(this.#file, 4096);
    const read = parseJson(new TextDecoder().decode(bytes ?? undefined));
    return isPosition(read) ? read : logStart;
  }

  /** Notes a position; it is written within a second. */
  note(position: LogPosition): void {
    this.#noted = position;
    this.#cancel ??= startBackgroundTimer(() => this.#write(), everyMs);
  }

  /** Writes what was noted. */
  async close(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  #write(): void {
    this.#cancel?.();
    this.#cancel = null;
    const noted = this.#noted;
    this.#noted = null;
    if (noted === null) return;
    // A position that is lost only means that more is read again.
    this.#writing = this.#writing.then(() => replaceFile(this.#file, `${JSON.stringify(noted)}\n`)).catch(() => {});
  }
}

function isPosition(value: unknown): value is LogPosition {
  if (typeof value !== "object" || value === null) return false;
  const { seq, writer, machine, term, gseq } = value as Record<string, unknown>;
  return [seq, term, gseq].every((number) => Number.isSafeInteger(number) && (number as number) >= 0) &&
    typeof writer === "string" && typeof machine === "string";
}
