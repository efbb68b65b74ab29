/**
 * A relative import names the very file, `.ts` or `.tsx` and all: Deno asks for it, and tsc rewrites it. A script of the build,
 * which nothing rewrites, names another one as it is.
 */
export const tsImports: Deno.lint.Rule = {
  create(context) {
    const isScript = context.filename.endsWith(".mjs");
    const check = (node: Deno.lint.Node & { source: Deno.lint.Node | null }): void => {
      if (node.source?.type !== "Literal") return;
      const specifier = String(node.source.value);
      if (!specifier.startsWith(".") || /\.(tsx?|json)$/.test(specifier)) return;
      if (isScript && specifier.endsWith(".mjs")) return;
      context.report({ node, message: `Import "${specifier}" does not end in .ts.` });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};
