import { isIn, placeOf } from "../place.ts";

const vague = new Set(["util", "utils", "helper", "helpers", "common", "manager", "service", "base", "impl"]);

/** A file is named for its one idea; these words name none. */
export const fileNames: Deno.lint.Rule = {
  create(context) {
    if (!isIn(context.filename, "core", "plugin-sdk", "plugins")) return {};
    return {
      Program(node) {
        const place = placeOf(context.filename);
        const words = place.replace(/\.\w+$/, "").split(/[/.-]/);
        const found = words.find((word) => vague.has(word));
        if (!found) return;
        context.report({ node, message: `The name ${place} holds "${found}", which says nothing of what is inside.` });
      },
    };
  },
};
