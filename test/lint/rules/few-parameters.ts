import { isIn } from "../place.ts";

/** Two positional parameters and an options object: a call with more cannot be read without the declaration. */
export const fewParameters: Deno.lint.Rule = {
  create(context) {
    if (!isIn(context.filename, "core", "plugin-sdk", "plugins")) return {};
    const check = (node: Deno.lint.Node & { params: readonly unknown[]; parent: Deno.lint.Node }): void => {
      // The shape of a callback is set by whoever calls it.
      if (node.parent.type === "CallExpression" || node.parent.type === "NewExpression") return;
      if (node.params.length <= 3) return;
      context.report({
        node,
        message: `This function has ${node.params.length} parameters; at most two and an options object are allowed.`,
      });
    };
    return {
      FunctionDeclaration: check,
      FunctionExpression: check,
      ArrowFunctionExpression: check,
      TSDeclareFunction: check,
      TSMethodSignature: check,
      TSFunctionType: check,
    };
  },
};
