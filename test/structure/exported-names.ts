import { dirname, posix } from "node:path";
import { parseSync } from "vite";

/** One name that a module exports. */
export interface ExportedName {
  kind: "type" | "value";
  name: string;
}

/** What a module exports, and what it takes from others. */
export interface ModuleNames {
  /** Sorted, types first. */
  exported: ExportedName[];
  /** Of relative imports, as `path name`; the name is `*` where it takes the whole module. */
  taken: string[];
}

/** Names that cross a module's edge, from the parser's own list: faster by far than its tree. `export *` throws. */
export function namesOf(path: string, text: string): ModuleNames {
  const { module, errors } = parseSync(path, text, { lang: path.endsWith("x") ? "tsx" : "ts" });
  if (errors.length > 0) throw new SyntaxError(`Cannot parse ${path}: ${errors[0]?.message}`);
  const taken: string[] = [];
  const take = (specifier: string, name: string): void => {
    if (specifier.startsWith(".")) taken.push(`${posix.join(dirname(path), specifier)} ${name}`);
  };
  for (const { moduleRequest, entries } of module.staticImports) {
    for (const { importName } of entries) {
      take(moduleRequest.value, importName.kind === "Default" ? "default" : importName.name ?? "*");
    }
  }
  const exported: ExportedName[] = [];
  for (
    const { moduleRequest, importName, exportName, isType } of module.staticExports.flatMap(({ entries }) => entries)
  ) {
    if (exportName.kind === "None") throw new Error("export * hides what is exported.");
    if (exportName.kind === "Name") exported.push({ kind: isType ? "type" : "value", name: exportName.name ?? "" });
    if (moduleRequest) take(moduleRequest.value, importName.name ?? "*");
  }
  // Later imports, and types that are named in place.
  for (const [, specifier = ""] of text.matchAll(/\bimport\(\s*"([^"]+)"/g)) take(specifier, "*");
  return { exported: exported.sort((a, b) => a.kind.localeCompare(b.kind) || (a.name < b.name ? -1 : 1)), taken };
}
