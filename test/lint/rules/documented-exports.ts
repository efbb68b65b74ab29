import { isIn } from "../place.ts";

/** Every export has a docstring, because editors and the package registry show nothing else. */
export const documentedExports: Deno.lint.Rule = {
  create(context) {
    if (!isIn(context.filename, "core", "plugin-sdk")) return {};
    const documented = new Set<string>();
    return {
      ExportNamedDeclaration(node) {
        if (!node.declaration) return;
        const names = namesOf(node.declaration);
        if (hasDocstring(context.sourceCode, node)) {
          for (const name of names) documented.add(name);
        } else if (!names.every((name) => documented.has(name))) {
          // The first overload, or the type of the same name, may carry the text for all.
          context.report({
            node,
            message: `Export "${names.join(", ")}" has no docstring.`,
            hint: "Write /** … */ before it: what goes in and out, units, errors thrown.",
          });
        }
      },
    };
  },
};

function hasDocstring(source: Deno.lint.SourceCode, node: Deno.lint.Node): boolean {
  const comment = source.getCommentsBefore(node).findLast(({ type, value }) =>
    type === "Block" && value.startsWith("*")
  );
  // getCommentsBefore() also gives comments that belong to earlier statements.
  return comment !== undefined && /^\s*(\/\/.*\s+)*$/.test(source.text.slice(comment.range[1], node.range[0]));
}

function namesOf(declaration: NonNullable<Deno.lint.ExportNamedDeclaration["declaration"]>): string[] {
  if (declaration.type === "VariableDeclaration") {
    return declaration.declarations.map(({ id }) => (id.type === "Identifier" ? id.name : "?"));
  }
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : ["?"];
}
