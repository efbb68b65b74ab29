import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

/** A piece of code with its part in the language; null for none. */
export interface Token {
  text: string;
  scope: string | null;
}

/** Returns the tokens of each line; undefined for a language that it does not know. */
export type Highlighter = (path: string, code: string) => Token[][] | undefined;

const languages = {
  bash,
  c,
  cpp,
  csharp,
  css,
  go,
  java,
  javascript,
  json,
  kotlin,
  markdown,
  php,
  python,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

const endings: Readonly<Record<string, keyof typeof languages>> = {
  cc: "cpp",
  cjs: "javascript",
  cs: "csharp",
  cts: "typescript",
  h: "c",
  hpp: "cpp",
  html: "xml",
  js: "javascript",
  jsx: "javascript",
  kt: "kotlin",
  md: "markdown",
  mjs: "javascript",
  mts: "typescript",
  py: "python",
  rb: "ruby",
  rs: "rust",
  sh: "bash",
  svg: "xml",
  ts: "typescript",
  tsx: "typescript",
  yml: "yaml",
};
/** Longer code is shown plain: colours are not worth a page that stands still. */
const mostCode = 60_000;

/** Colours code by its language. Yields tokens, never markup. */
export const highlightLines: Highlighter = (path, code) => {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  const language = endings[ending] ?? ending;
  if (code.length > mostCode || hljs.getLanguage(language) === undefined) return undefined;
  const lines: Token[][] = [[]];
  const { rootNode } =
    (hljs.highlight(code, { language, ignoreIllegals: true }) as unknown as { _emitter: { rootNode: TreeNode } })
      ._emitter;
  addNode(rootNode, null, lines);
  return lines;
};

interface TreeNode {
  scope?: string;
  children: (TreeNode | string)[];
}

function addNode(node: TreeNode, scope: string | null, lines: Token[][]): void {
  const own = node.scope === undefined || node.scope.startsWith("language:")
    ? scope
    : node.scope.split(".")[0] ?? scope;
  for (const child of node.children) {
    if (typeof child !== "string") addNode(child, own, lines);
    else {
      for (const [index, text] of child.split("\n").entries()) {
        if (index > 0) lines.push([]);
        if (text !== "") lines.at(-1)?.push({ text, scope: own });
      }
    }
  }
}
