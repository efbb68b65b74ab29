import { isIn } from "../place.ts";

/** Openings of doc comments that delay the subject. */
const openings = /^(?:What|Where|Who|Whoever|Whatever|That which)\b(?!.*\?)/;
/** Words that make readers parse a sentence twice. */
const words = /\b(?:whoever|anew|for ever|befell|gone along with|somebody|thereby)\b/i;

/** Comments are in plain English: a doc comment starts with a verb or a noun, and actors have names. */
export const plainComments: Deno.lint.Rule = {
  create(context) {
    if (!isIn(context.filename, "core", "plugin-sdk", "plugins")) return {};
    return {
      "Program:exit"() {
        for (const comment of context.sourceCode.getAllComments()) {
          const fault = faultOf(comment);
          if (fault === null) continue;
          context.report({ range: comment.range, message: fault.message, hint: fault.hint });
        }
      },
    };
  },
};

function faultOf({ type, value }: { type: string; value: string }): { message: string; hint: string } | null {
  // Names of code may be any words.
  const text = value.replace(/`[^`]*`/g, "");
  const opening = type === "Block" && value.startsWith("*")
    ? openings.exec(text.replace(/^\*\s*/, ""))?.[0]
    : undefined;
  if (opening !== undefined) {
    return {
      message: `A doc comment opens with "${opening}".`,
      hint: 'Start with a verb or a noun: "Returns the open sessions", "Options of …".',
    };
  }
  const word = words.exec(text)?.[0];
  if (word === undefined) return null;
  return { message: `A comment says "${word}".`, hint: 'Name the actor, or say "again", "forever".' };
}
