import type { ErrorData } from "../../../../plugin-sdk/errors.ts";
import { pageOfError } from "../help-pages.ts";
import { hintLines, messageLines } from "./message-lines.ts";
import { createPaint } from "./paint.ts";

/** Formats an error as lines for people. */
export function errorText(error: ErrorData, colours: boolean): string {
  const paint = createPaint(colours);
  const page = hasPage(error) ? pageOfError[error.code] : undefined;
  const below = [...hintLines(error.hint), ...hintLines(page && `More: bulkhead help ${page}`)];
  const lines = below.map((line) => `${paint("dim", `  ${line}`)}\n`);
  return `${paint("red", "error:")} ${messageLines(error, paint).join("\n")}\n${lines.join("")}`;
}

/** Whether the page of its code helps: one on files not with flags, whose own help and hint say
 * more, and one on agents not where a hint names the next step. */
function hasPage({ code, hint, details }: ErrorData): boolean {
  if (details?.["usage"] !== undefined) return false;
  if (code === "invalid_config") return details?.["problems"] !== undefined;
  return (code !== "busy" && code !== "unavailable") || hint === undefined;
}
