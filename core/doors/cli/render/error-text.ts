import type { ErrorData } from "../../../../plugin-sdk/errors.ts";
import type { Colours, Terminal } from "../../../ground/platform/terminal/terminal.ts";
import { pageOfError } from "../help-pages.ts";
import { hintLines, messageLines } from "./message-lines.ts";
import { createPaint } from "./paint.ts";

/** Formats an error as lines for people, its sentences within so many columns. */
function errorText(error: ErrorData, { colours, columns }: { colours: Colours; columns: number }): string {
  const paint = createPaint(colours);
  const page = hasPage(error) ? pageOfError[error.code] : undefined;
  const below = [
    ...hintLines(error.hint, Math.max(0, columns - 2)),
    ...hintLines(page && `More: bulkhead help ${page}`, 0),
  ];
  const lines = below.map((line) => `${paint("dim", `  ${line}`)}\n`);
  const said = messageLines(error, { paint, columns }).join("\n");
  return `${paint("red", "error:")} ${said}\n${lines.join("")}`;
}

/** Writes an error to standard error. */
export async function tellError(
  error: ErrorData,
  { stderr, colours }: Pick<Terminal, "stderr" | "colours">,
): Promise<void> {
  await stderr.write(errorText(error, { colours: colours.stderr, columns: stderr.columns }));
}

/** Whether the page of its code helps: one on files not with flags, whose own help and hint say
 * more, and one on agents not where a hint names the next step. */
function hasPage({ code, hint, details }: ErrorData): boolean {
  if (details?.["usage"] !== undefined) return false;
  if (code === "invalid_config") return details?.["problems"] !== undefined;
  return (code !== "busy" && code !== "unavailable") || hint === undefined;
}
