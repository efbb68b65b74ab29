import { isIn, placeOf } from "../place.ts";

/** Files that remove folders by calls of this process: where there is no `rm`, and records of which each has a few files. */
const removers = ["core/ground/platform/files/remove-tree.ts", "core/ground/platform/files/small-files.ts"];

/** Folders are removed by `removeTree` or `Trash`, because calls for each of 100,000 files would stop the host for seconds. */
export const removalsByProgram: Deno.lint.Rule = {
  create(context) {
    // What is in the kit runs beside an author's plugin, in a process of its own.
    const isHosts = isIn(context.filename, "core") && !isIn(context.filename, "core/kit");
    if (!isHosts || removers.includes(placeOf(context.filename))) return {};
    return {
      Property(node) {
        const [object, call] = [node.parent, node.parent.parent];
        if (!("name" in node.key) || node.key.name !== "recursive") return;
        if (object.type !== "ObjectExpression" || call?.type !== "CallExpression") return;
        if (!removing.test(nameOf(call.callee))) return;
        context.report({
          node: call,
          message: "A folder is removed by calls of the host's own process.",
          hint: "Use removeTree of core/ground/platform/files/remove-tree.ts, or a Trash where nothing waits for it.",
        });
      },
    };
  },
};

const removing = /^(?:rm|rmSync|rmdir|rmdirSync|remove|removeSync)$/;

function nameOf(callee: Deno.lint.Node): string {
  if (callee.type === "MemberExpression") return nameOf(callee.property);
  return callee.type === "Identifier" ? callee.name : "";
}
