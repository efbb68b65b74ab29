import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import { isShallow } from "../../ground/checks/depth.ts";
import type { Limits } from "../../ground/config/limits.ts";
import { fitsSchema } from "../../ground/checks/fits-schema.ts";
import type { EventRules } from "./event-rules.ts";

/** Finds the data of an agent that has done its work, and holds it to the schema. */
export async function structuredOutput(
  { lastWord, text }: Pick<EventRules, "lastWord" | "text">,
  { schema, limits }: { schema: Record<string, unknown> | undefined; limits: Pick<Limits, "message_depth"> },
): Promise<{ data?: unknown; error?: ErrorData }> {
  if (lastWord?.type !== "completed" || !lastWord.success) return {};
  const said = lastWord.structured_output;
  if (schema === undefined) return said === undefined ? {} : { data: said };
  const data = said === undefined ? jsonIn(lastWord.output ?? text) : said;
  if (data === undefined || !isShallow(data, limits.message_depth)) {
    return {
      error: { code: "output_invalid", message: "The agent gave no structured output, and its answer is not JSON." },
    };
  }
  const fault = await fitsSchema({ schema, data });
  if (fault === null) return { data };
  return {
    error: {
      code: "output_invalid",
      message: `The agent's structured output does not fit the output schema: ${fault}`,
      details: { structured_output: data, fault },
    },
  };
}

/** Reads JSON that is the whole text, or stands in its last fence. */
function jsonIn(text: string): unknown {
  const fences = text.split("```");
  const fenced = fences.length > 2 ? fences.at(-2)!.replace(/^[a-z]*\n/, "") : "";
  for (const one of [text, fenced]) {
    try {
      return JSON.parse(one);
    } catch {
      // Prose is no JSON.
    }
  }
  return undefined;
}
