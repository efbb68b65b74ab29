import { isIn } from "../place.ts";
import { isReference } from "../reference.ts";

/** Only the command line prints; everything else hands log records up. */
export const noConsole: Deno.lint.Rule = {
  create(context) {
    if (!isIn(context.filename, "core", "plugin-sdk") || isIn(context.filename, "core/doors/cli")) return {};
    return {
      Identifier(node) {
        if (node.name !== "console" || !isReference(node)) return;
        context.report({ node, message: "Only core/doors/cli may use console; pass a log record up instead." });
      },
    };
  },
};
