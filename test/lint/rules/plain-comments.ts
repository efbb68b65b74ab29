import { isIn } from "../place.ts";
import { hardWords } from "../hard-words.ts";

/** Openings of doc comments that delay the subject. */
const openings = /^(?:What|Where|Who|Whoever|Whatever|That which)\b(?!.*\?)/;
const hint = 'Name the actor, or say "again", "forever", "must", "reports", "instead of".';

/** Comments and messages are in plain English: a doc comment starts with a verb or a noun, and actors have names. */
export const plainComments: Deno.lint.Rule = {
  create(context) {
    if (!isIn(context.filename, "core", "plugin-sdk", "plugins")) return {};
    const check = (node: Deno.lint.Node, text: string) => {
      const word = hardWords.exec(text)?.[0];
      if (word !== undefined) context.report({ node, message: `A text says "${word}".`, hint });
    };
    return {
      Literal(node) {
        if (typeof node.value === "string") check(node, node.value);
      },
      TemplateElement(node) {
        check(node, node.raw);
      },
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
  const text = value.replace(/`[^`]*`/g, "").replace(/\s*\n\s*(?:\* ?)?/g, " ");
  const opening = type === "Block" && value.startsWith("*")
    ? openings.exec(text.replace(/^\*\s*/, ""))?.[0]
    : undefined;
  if (opening !== undefined) {
    return {
      message: `A doc comment opens with "${opening}".`,
      hint: 'Start with a verb or a noun: "Returns the open sessions", "Options of …".',
    };
  }
  const word = hardWords.exec(text)?.[0];
  return word === undefined ? null : { message: `A comment says "${word}".`, hint };
}
