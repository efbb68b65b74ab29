import { isIn } from "../place.ts";

/** Exports have one name everywhere, and every public name is written down in an entry by hand. */
export const namedExports: Deno.lint.Rule = {
  create(context) {
    if (!isIn(context.filename, "core", "plugin-sdk")) return {};
    return {
      ExportDefaultDeclaration(node) {
        context.report({ node, message: "A default export has no name of its own; export it by name." });
      },
      ExportAllDeclaration(node) {
        context.report({ node, message: "export * hides what is exported; list the names." });
      },
    };
  },
};
