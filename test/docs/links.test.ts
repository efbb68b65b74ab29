import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { helpPages, pageOfError } from "../../core/doors/cli/help-pages.ts";
import { documents } from "../structure/snippets.ts";
import { listFiles, readSource, root } from "../structure/source.ts";

interface Link {
  /** As written. */
  target: string;
  /** Path in the repository. */
  file: string;
  /** Behind `#`; empty without one. */
  anchor: string;
}

/** Links of a document to files of the repository. */
function linksOf(path: string): Link[] {
  const text = readSource(path).replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
  const targets = [
    ...[...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target),
    ...[...text.matchAll(/(?:src|srcset)="([^"]+)"/g)].map(([, target = ""]) => target),
  ];
  return targets.filter((target) => !/^[a-z]+:/.test(target)).map((target) => {
    const [file = "", anchor = ""] = target.split("#");
    return { target, file: file === "" ? path : posix.join(posix.dirname(path), file), anchor };
  });
}

/** The anchors that GitHub gives the headings of a document. */
function anchorsOf(path: string): string[] {
  return [...readSource(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(/[^\p{Letter}\p{Number} _-]/gu, "").replaceAll(" ", "-")
  );
}

const links = documents().flatMap((path) => linksOf(path).map((link) => ({ path, ...link })));

describe("links of the documents", () => {
  test.each(links)("$path: $target leads to a file and its heading", ({ file, anchor }) => {
    expect(existsSync(join(root, file)), file).toBe(true);
    if (anchor !== "") expect(anchorsOf(file)).toContain(anchor);
  });
});

describe("pages of bulkhead help", () => {
  const files = listFiles(".github/docs", ".md").map((path) => posix.basename(path, ".md"));

  test("are the files of .github/docs", () => {
    expect(Object.keys(helpPages).sort()).toEqual(files.sort());
  });

  test("each is linked from README.md", () => {
    const linked = links.filter(({ path }) => path === "README.md").map(({ file }) => file);
    for (const page of files) expect(linked).toContain(`.github/docs/${page}.md`);
  });

  test("each begins with what its reader can do after it", () => {
    for (const page of files) expect(readSource(`.github/docs/${page}.md`)).toMatch(/^# .*\n\nAfter this page /);
  });

  test("an error leads to a page that names it or its subject", () => {
    for (const page of Object.values(pageOfError)) expect(files).toContain(page);
  });
});
