import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Writes a hostile package into a folder, of about so many bytes; its entry is `mod.ts`. */
export type WriteSource = (folder: string, bytes: number) => Promise<void>;

const fileBytes = 15 * 1024 * 1024;

/** One file of many pieces, or as many files as the limit of one asks for, each imported by the entry. */
function pieces(piece: string, { before = "", after = "" } = {}): WriteSource {
  return async (folder, bytes) => {
    const names: string[] = [];
    for (let left = bytes, n = 0; left > 0; left -= fileBytes, n++) {
      const many = Math.floor(Math.min(left, fileBytes) / piece.length);
      await writeFile(join(folder, `part-${n}.ts`), `${before}${piece.repeat(many)}${after}`);
      names.push(`part-${n}.ts`);
    }
    const lines = names.map((name, n) => `export * as p${n} from "./${name}";\n`);
    await writeFile(join(folder, "mod.ts"), `${lines.join("")}export default 1;\n`);
  };
}

/** Pieces with a number in each. */
function numbered(piece: (n: number) => string, { before = "", after = "" } = {}): WriteSource {
  return async (folder, bytes) => {
    const parts: string[] = [];
    const most = Math.min(bytes, fileBytes);
    for (let n = 0, size = 0; size < most; n++) {
      parts.push(piece(n));
      size += parts.at(-1)!.length;
    }
    await writeFile(join(folder, "mod.ts"), `${before}${parts.join("")}${after}`);
  };
}

function files(count: number, text: (n: number) => string): WriteSource {
  return async (folder) => {
    await Promise.all(Array.from({ length: count }, (_, n) => writeFile(join(folder, `m${n}.ts`), text(n))));
    await writeFile(join(folder, "mod.ts"), `import "./m0.ts";\nexport default 1;\n`);
  };
}

function inPlaceOfAModule(make: (path: string) => Promise<void> | void): WriteSource {
  return async (folder) => {
    await make(join(folder, "odd.ts"));
    await writeFile(join(folder, "mod.ts"), 'import "./odd.ts";\nexport default 1;\n');
  };
}

/** Source that is written to harm whoever reads it. */
export const hostileSources: Readonly<Record<string, WriteSource>> = {
  "square brackets": pieces("["),
  "round brackets": pieces("(", { before: "export const a = " }),
  "curly brackets": pieces("{"),
  "brackets behind a slash": pieces("a=/[/]/[", { before: "export let a;" }),
  "a list of objects": pieces("{a},", { before: "const a = 1; export const b = [", after: "];" }),
  "a list of numbers": pieces("1,", { before: "export const b = [", after: "];" }),
  "huge strings": pieces("<!-- import( eval( ", { before: 'export const a = "', after: '";' }),
  "template literals": pieces("`${a}`+", { before: "const a = 1; export const b = ", after: "1;" }),
  "templates in templates": pieces("`${", { before: "export const b = " }),
  "a million names": numbered((n) => `export const n${n}=${n};`),
  "a million functions": numbered((n) => `export function f${n}(){}`),
  "ternaries": pieces("a?b:", { before: "const a = 1, b = 2; export const c = ", after: "1;" }),
  "a chain of operators": pieces("a+", { before: "const a = 1; export const c = ", after: "1;" }),
  "signs before a value": pieces("!", { before: "export const c = ", after: "1;" }),
  "arrow functions": pieces("a=>", { before: "export const c = ", after: "1;" }),
  "ifs in ifs": pieces("if(a)", { before: "let a = 1;", after: ";" }),
  "regular expressions": pieces("/(?:(?:a+)+)+[^\\]]$/u,", { before: "export const c = [", after: "];" }),
  "classes in a regular expression": pieces("[a", { before: "export const c = /", after: "/v;" }),
  "one very long line": pieces("a();", { before: "declare const a: () => void;" }),
  "escapes in names": pieces("\\u{61}\\u0062=1;", { before: "let ab;" }),
  "generics": pieces("A<", { before: "type A<T> = T; let a: " }),
  "comments that name source maps": pieces("//# sourceMappingURL=data:application/json;base64,e30=\n"),
  "a JSON module": async (folder, bytes) => {
    const many = Math.floor(Math.min(bytes, fileBytes) / 8);
    await writeFile(join(folder, "a.json"), `[${'{"a":1},'.repeat(many)}1]`);
    await writeFile(join(folder, "mod.ts"), 'import a from "./a.json" with { type: "json" };\nexport default a;\n');
  },
  "a file over the limit": async (folder, bytes) => {
    await writeFile(join(folder, "mod.ts"), "a".repeat(Math.max(bytes, fileBytes + 2 * 1024 * 1024)));
  },
  "many small modules": files(3000, (n) => `import "./m${n + 1 === 3000 ? 0 : n + 1}.ts"; export const a${n} = 1;`),
  "modules that all import each other": files(
    200,
    () => Array.from({ length: 200 }, (_, m) => `export * as a${m} from "./m${m}.ts";`).join("\n"),
  ),
  "a pipe": inPlaceOfAModule((path) => void execFileSync("mkfifo", [path])),
  "a device": inPlaceOfAModule(async (path) => await symlink("/dev/zero", path)),
  "a loop of links": inPlaceOfAModule(async (path) => await symlink(path, path)),
  "a folder": inPlaceOfAModule(async (path) => void await mkdir(path)),
};
