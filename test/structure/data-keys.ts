import { Kind } from "@sinclair/typebox";
import { z } from "zod";
import { literal, type Node, parse, visitNodes } from "./source.ts";

/** snake_case: lowercase words and digits, joined by single underscores. */
export const snakeCase: RegExp = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/** Keys of the data in a TypeScript text: of every object type that has no function in it. */
export function keysOfTypes(path: string, text: string): Set<string> {
  const keys = new Set<string>();
  visitNodes(parse(path, text), (node) => {
    if (node.type !== "TSInterfaceBody" && node.type !== "TSTypeLiteral") return;
    const members = (node["body"] ?? node["members"]) as Node[];
    if (members.some(holdsFunction)) return;
    for (const member of members) {
      if (member.type === "TSPropertySignature" && !member["computed"]) keys.add(nameOf(member["key"] as Node));
    }
  });
  return keys;
}

function holdsFunction(member: Node): boolean {
  if (member.type === "TSMethodSignature" || member.type === "TSCallSignatureDeclaration") return true;
  let found = false;
  visitNodes(member["typeAnnotation"], (node) => {
    if (node.type === "TSFunctionType") found = true;
  });
  return found;
}

function nameOf(key: Node): string {
  return key.type === "Identifier" ? String(key["name"]) : String(literal(key));
}

/** Keys of every TypeBox or zod schema among a module's exports, also of those in plain tables of schemas. */
export function keysOfSchemas(exports: Record<string, unknown>): Set<string> {
  const keys = new Set<string>();
  for (const value of Object.values(exports)) {
    if (value instanceof z.ZodType) addKeys(z.toJSONSchema(value, { unrepresentable: "any", io: "input" }), keys);
    else if (isTypeBox(value)) addKeys(value, keys);
    else if (isPlainTable(value)) Object.values(value).filter(isTypeBox).forEach((schema) => addKeys(schema, keys));
  }
  return keys;
}

function isTypeBox(value: unknown): value is object {
  return typeof value === "object" && value !== null && Kind in value;
}

function isPlainTable(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Walks a JSON Schema: a key is what stands under `properties`; all other members lead to more schemas. */
function addKeys(schema: unknown, keys: Set<string>): void {
  if (typeof schema !== "object" || schema === null) return;
  for (const [member, value] of Object.entries(schema)) {
    // Values and names, not schemas.
    if (member === "const" || member === "enum" || member === "default" || member === "required") continue;
    if (member === "properties") Object.keys(value).forEach((key) => keys.add(key));
    for (const inner of member === "properties" ? Object.values(value) : [value]) addKeys(inner, keys);
  }
}
