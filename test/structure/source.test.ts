import { expect, test } from "vitest";
import { linksOf } from "./source.ts";

test("linksOf finds every way one file can reach another, and tells types from values", () => {
  const text = [
    `import { a } from "./a.ts";`,
    `import type { B } from "../b/b.ts";`,
    `import { type C } from "./c.ts";`,
    `export { d } from "./d.ts";`,
    `export type { E } from "./e.ts";`,
    `export * from "zod";`,
    `const f = await import("./f.ts");`,
    `const g = new URL("./g.ts", import.meta.url);`,
    `let h: import("./h.ts").H;`,
    `const no = new URL("./no.ts", "http://localhost");`,
    `// import { not } from "./not.ts";`,
  ].join("\n");
  const found = linksOf("core/x/x.ts", text).map(({ kind, target, specifier, line }) =>
    `${line} ${kind} ${target ?? specifier}`
  );
  expect(found).toEqual([
    "1 value core/x/a.ts",
    "2 type core/b/b.ts",
    // Under verbatimModuleSyntax only `import type` is erased: this one still loads the file.
    "3 value core/x/c.ts",
    "4 value core/x/d.ts",
    "5 type core/x/e.ts",
    "6 value zod",
    "7 dynamic core/x/f.ts",
    "8 url core/x/g.ts",
    "9 type core/x/h.ts",
  ]);
});
