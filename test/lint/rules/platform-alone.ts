import { isIn } from "../place.ts";
import { isDeclaration, isReference } from "../reference.ts";

const rooms = ["core/ground/platform", "core/walls/agent"];
const only = `Only ${rooms.join(" and ")} may`;
const globals = new Set(["process", "Deno", "Buffer", "NodeJS", "require", "__dirname", "__filename", "global"]);

/**
 * core/ground/platform and core/walls/agent are the only rooms that name Node or Deno, so that porting means reading two
 * folders.
 */
export const platformAlone: Deno.lint.Rule = {
  create(context) {
    if (!isIn(context.filename, "core", "plugin-sdk") || isIn(context.filename, ...rooms)) return {};
    const declared = new Set<string>();
    const used: Deno.lint.Identifier[] = [];
    const checkSource = (node: Deno.lint.Node & { source: Deno.lint.Node | null }): void => {
      if (node.source?.type !== "Literal" || !String(node.source.value).startsWith("node:")) return;
      context.report({
        node,
        message: `${only} import ${node.source.value}; import from core/ground/platform.`,
      });
    };
    return {
      ImportDeclaration: checkSource,
      ImportExpression: checkSource,
      ExportNamedDeclaration: checkSource,
      ExportAllDeclaration: checkSource,
      Identifier(node) {
        if (!globals.has(node.name)) return;
        if (isDeclaration(node)) declared.add(node.name);
        else if (isReference(node)) used.push(node);
      },
      "MemberExpression[object.name='globalThis']"(node: Deno.lint.MemberExpression) {
        const { property } = node;
        const name = property.type === "Identifier" ? property.name : property.type === "Literal" ? property.value : "";
        if (globals.has(String(name))) context.report({ node, message: `${only} name ${name}.` });
      },
      "Program:exit"() {
        for (const node of used) {
          // A file's own variable of that name is not the global.
          if (declared.has(node.name)) continue;
          context.report({
            node,
            message: `${only} name ${node.name}; import from core/ground/platform.`,
          });
        }
      },
    };
  },
};
