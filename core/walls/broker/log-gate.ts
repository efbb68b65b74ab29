import type { Operations } from "../channel/operations.ts";
import { cleanText } from "../../ground/log/terminal-text.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";

type LogArgs = Operations["log"]["args"];

/** Holds one session's log records to a rate and a size, and cleans them. */
export class LogGate {
  #options: SessionBrokerOptions;
  #second = 0;
  #written = 0;
  #suppressed = 0;

  constructor(options: SessionBrokerOptions) {
    this.#options = options;
  }

  write({ level, message, fields }: LogArgs): void {
    const { log_per_second, log_bytes } = this.#options.limits;
    const second = Math.floor(Date.now() / 1000);
    if (second !== this.#second) {
      this.flush();
      this.#second = second;
      this.#written = 0;
    }
    if (this.#written >= log_per_second) {
      this.#suppressed += 1;
      return;
    }
    this.#written += 1;
    const text = cleanText(cut(message, log_bytes));
    this.#options.writeLog({ level, message: text, fields: cleanFields(fields, log_bytes) });
  }

  /** Says how many records were left out since the last time. */
  flush(): void {
    if (this.#suppressed === 0) return;
    const message = `${this.#suppressed} suppressed: more than ${this.#options.limits.log_per_second} a second.`;
    this.#suppressed = 0;
    this.#options.writeLog({ level: "warn", message, fields: null });
  }
}

/** Cut before it is cleaned, which makes it at most nine times as long. */
function cut(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}… (${text.length - maxLength} more)`;
}

/** Cleans every text in the fields, names too. Fields over the limit become one shortened text. */
function cleanFields(fields: unknown, maxLength: number): unknown {
  if (fields === undefined || fields === null) return null;
  const json = JSON.stringify(fields) ?? "null";
  return json.length > maxLength ? cleanText(cut(json, maxLength)) : cleanValue(fields);
}

function cleanValue(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [cleanText(key), cleanValue(held)]));
}
