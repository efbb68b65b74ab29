import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { listFiles, readSource, root } from "./source.ts";

/** A fenced block of a document. */
export interface Snippet {
  /** `README.md:12`: where the fence opens. */
  place: string;
  language: string;
  /** Words after the language, such as `run`. */
  tags: string[];
  text: string;
}

/** Documents whose snippets are tested. */
export function documents(): string[] {
  return [
    ...(existsSync(join(root, "README.md")) ? ["README.md"] : []),
    ...listFiles(".github", ".md"),
    ...listFiles("plugins", ".md").filter((path) => posix.basename(path) === "README.md"),
  ];
}

/** Every fenced block of a document in the repository. */
export function snippetsOf(path: string, text: string = readSource(path)): Snippet[] {
  const fence = /^( *)(```+|~~~+)([^\n`]*)\n([\s\S]*?)\n?^\1\2[ ]*$/gm;
  return [...text.matchAll(fence)].map((match) => {
    const [, indent = "", , info = "", body = ""] = match;
    const [language = "", ...tags] = info.trim().split(/\s+/);
    const line = text.slice(0, match.index).split("\n").length;
    return { place: `${path}:${line}`, language, tags, text: `${unindent(body, indent)}\n` };
  });
}

function unindent(text: string, indent: string): string {
  return text.split("\n").map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)).join("\n");
}

/** Our own files that a `yaml` snippet can be of. */
export type YamlKind = "plugin.yaml" | "bulkhead.yaml" | "conformance.yaml";

/** What a `yaml` snippet is of, as its first line says: `# plugin.yaml`, for example; null without one. */
export function yamlKind({ text }: Snippet): YamlKind | null {
  const [, kind] = /^#.*?\b((?:plugin|bulkhead|conformance)\.yaml)\b/.exec(text) ?? [];
  return (kind as YamlKind | undefined) ?? null;
}

/** One call of our command line in a shell snippet. */
export interface Call {
  /** First word after the program; undefined for a bare call or one that begins with a flag. */
  command: string | undefined;
  /** Long flags, without values. What follows a bare `--` belongs to another program. */
  flags: string[];
  line: string;
}

/** Calls of `bulkhead` in a shell snippet, also behind `npx`, a prompt sign, variables and pipes. */
export function callsIn(text: string): Call[] {
  const joined = text.replaceAll(/\\\n\s*/g, " ");
  return joined.split("\n").flatMap((line) =>
    line.replace(/(^|\s)#.*$/, "").split(/\s*(?:\|\||&&|[|;])\s*/).flatMap((part) => {
      const [, rest] = /^\s*(?:\$\s+)?(?:\w+=\S*\s+)*(?:npx\s+(?:-\S+\s+)*)?bulkhead(?=\s|$)(.*)$/.exec(part) ?? [];
      if (rest === undefined) return [];
      const words = (rest.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).filter(Boolean);
      const own = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
      const command = own[0]?.startsWith("-") ? undefined : own[0];
      const flags = own.filter((word) => word.startsWith("--")).map((word) => word.replace(/=.*$/, ""));
      return [{ command, flags, line: line.trim() }];
    })
  );
}
