/** Enums and namespaces are no JavaScript: the types cannot be stripped from them. */
export const noEnum: Deno.lint.Rule = {
  create(context) {
    return {
      TSEnumDeclaration(node) {
        context.report({ node, message: "Use a const array or object and a type made from it, not an enum." });
      },
      TSModuleDeclaration(node) {
        // `declare global` and `declare module "x"` only add types.
        if (node.kind === "global" || node.id.type === "Literal") return;
        context.report({ node, message: "Use a file, not a namespace." });
      },
    };
  },
};
