import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";

/** Absolute path of the repository, without a slash at its end. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** One import, export-from, dynamic import or `new URL(…, import.meta.url)` of a file. */
export interface Link {
  /** As written. */
  specifier: string;
  /** Path in the repository for a relative specifier, else null. */
  target: string | null;
  /** `type` is erased by the compiler; `url` loads nothing by itself. */
  kind: "value" | "type" | "dynamic" | "url";
  line: number;
}

/** A node of the ESTree that oxc gives; only what the tests read. */
export interface Node {
  type: string;
  start: number;
  end: number;
  [key: string]: unknown;
}

/** Text of a file, by its path in the repository. */
export function readSource(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** Paths in the repository of all files below a folder that end in `end`, sorted; none if it does not exist. */
export function listFiles(folder: string, end: string | RegExp = /\.tsx?$/): string[] {
  const found: string[] = [];
  walk(folder, (path) => {
    if (typeof end === "string" ? path.endsWith(end) : end.test(path)) found.push(path);
  });
  return found.sort();
}

/** Paths of all folders below a folder, itself excluded. */
export function listFolders(folder: string): string[] {
  const found = new Set<string>();
  walk(folder, (path) => {
    for (let at = posix.dirname(path); at !== folder && at !== "."; at = posix.dirname(at)) found.add(at);
  });
  return [...found].sort();
}

function walk(folder: string, visit: (path: string) => void): void {
  let entries;
  try {
    entries = readdirSync(join(root, folder), { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  for (const entry of entries) {
    if (entry.name === "node_modules" || entry.name === "dist" || entry.name === "fixtures") continue;
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) walk(path, visit);
    else visit(path);
  }
}

/** The syntax tree of a TypeScript text; a syntax error throws. */
export function parse(path: string, text: string): Node {
  const { program, errors } = parseSync(path, text, { lang: path.endsWith("x") ? "tsx" : "ts" });
  if (errors.length > 0) throw new SyntaxError(`Cannot parse ${path}: ${errors[0]?.message}`);
  return program as unknown as Node;
}

/** Calls `visit` with every node, parents first. */
export function visitNodes(node: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(node)) {
    for (const child of node) visitNodes(child, visit);
  } else if (typeof node === "object" && node !== null) {
    if (typeof (node as Node).type === "string") visit(node as Node);
    for (const child of Object.values(node)) visitNodes(child, visit);
  }
}

/** Every link of one file to another. */
export function linksOf(path: string, text: string = readSource(path)): Link[] {
  const links: Link[] = [];
  const add = (node: Node, specifier: unknown, kind: Link["kind"]): void => {
    if (typeof specifier !== "string") return;
    const line = text.slice(0, node.start).split("\n").length;
    const target = specifier.startsWith(".") ? posix.join(dirname(path), specifier) : null;
    links.push({ specifier, target, kind, line });
  };
  visitNodes(parse(path, text), (node) => {
    switch (node.type) {
      case "ImportDeclaration":
        return add(node, literal(node["source"]), node["importKind"] === "type" ? "type" : "value");
      case "ExportNamedDeclaration":
      case "ExportAllDeclaration":
        return add(node, literal(node["source"]), node["exportKind"] === "type" ? "type" : "value");
      case "ImportExpression":
        return add(node, literal(node["source"]), "dynamic");
      case "TSImportType":
        return add(node, literal(node["source"]), "type");
      case "NewExpression":
        if (isModuleUrl(node)) add(node, literal((node["arguments"] as unknown[])[0]), "url");
    }
  });
  return links;
}

/** The value of a string literal node. */
export function literal(node: unknown): unknown {
  return typeof node === "object" && node !== null && "value" in node ? node.value : undefined;
}

function isModuleUrl(node: Node): boolean {
  const [first, second] = node["arguments"] as (Node | undefined)[];
  const callee = node["callee"] as Node;
  const isMeta = second?.type === "MemberExpression" && (second["object"] as Node).type === "MetaProperty";
  return callee["name"] === "URL" && isMeta && String(literal(first)).startsWith(".");
}
