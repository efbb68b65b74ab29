/** One part of a document that is made from the code. */
export interface Part {
  name: string;
  text: string;
}

const marked = /<!-- generated: ([\w-]+) -->\n([\s\S]*?)<!-- end of \1 -->/g;

/** The parts of a document that stand between `<!-- generated: name -->` and `<!-- end of name -->`. */
export function partsOf(document: string): Part[] {
  return [...document.matchAll(marked)].map(([, name = "", text = ""]) => ({ name, text }));
}

/** The document with each part as `make` gives it. */
export function withParts(document: string, make: (name: string) => string): string {
  return document.replaceAll(
    marked,
    (_whole, name: string) => `<!-- generated: ${name} -->\n\n${make(name)}\n\n<!-- end of ${name} -->`,
  );
}

/** A text as it reads, whatever the formatter did to its blanks and the width of its tables. */
export function asRead(text: string): string {
  return text.replaceAll(/\|[\s:|-]*-[\s:|-]*\|/g, "|-|").replaceAll(/[ \t]+/g, " ").replaceAll(/\n{2,}/g, "\n").trim();
}
