// Usage: npm run docs. Writes the parts of the documents that are made from the code.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { documents } from "../structure/snippets.ts";
import { readSource, root } from "../structure/source.ts";
import { generated } from "./generated.ts";
import { withParts } from "./parts.ts";

for (const path of documents()) {
  const before = readSource(path);
  const after = withParts(before, (name) => {
    const make = generated[name];
    if (make === undefined) throw new Error(`Cannot write "${name}" into ${path}: nothing generates it.`);
    return make();
  });
  if (after !== before) writeFileSync(join(root, path), after);
}
