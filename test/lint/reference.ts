/** True where an identifier stands for a variable: not the name of a property, member, import or parameter type. */
export function isReference(node: Deno.lint.Identifier): boolean {
  const parent: Deno.lint.Node = node.parent;
  switch (parent.type) {
    case "MemberExpression":
      return parent.object === node || parent.computed;
    case "Property":
      return parent.value === node || parent.computed;
    case "PropertyDefinition":
    case "MethodDefinition":
    case "TSPropertySignature":
    case "TSMethodSignature":
      return parent.key !== node && parent.type === "PropertyDefinition";
    case "ImportSpecifier":
    case "ExportSpecifier":
    case "TSTypeParameter":
    case "TSNamedTupleMember":
    case "TSModuleDeclaration":
      return false;
    default:
      return !isDeclaration(node);
  }
}

/** True where an identifier gives a variable, parameter, function, class or import its name. */
export function isDeclaration(node: Deno.lint.Identifier): boolean {
  const parent: Deno.lint.Node = node.parent;
  switch (parent.type) {
    case "VariableDeclarator":
    case "ClassDeclaration":
      return parent.id === node;
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
    case "TSDeclareFunction":
    case "TSFunctionType":
    case "TSMethodSignature":
    case "CatchClause":
    case "RestElement":
    case "ArrayPattern":
    case "ImportSpecifier":
    case "ImportDefaultSpecifier":
    case "ImportNamespaceSpecifier":
      return true;
    case "AssignmentPattern":
      return parent.left === node;
    case "Property":
      return parent.value === node && (parent.parent as Deno.lint.Node).type === "ObjectPattern";
    default:
      return false;
  }
}
