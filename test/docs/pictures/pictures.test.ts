import { describe, expect, test } from "vitest";
import { readSource } from "../../structure/source.ts";
import { documentCommands } from "../typed-commands.ts";
import { movingPicture, palettes } from "./terminal-picture.ts";

/** Pixels for a picture on a phone of 390: the page has margins. */
const phoneWidth = 358;
const smallestLetters = 9;

const drawn = ["demo", "walls"].flatMap((name) => ["light", "dark"].map((look) => `${name}-${look}.svg`));

describe.each(drawn)("picture %s", (file) => {
  const svg = readSource(`.github/docs/pictures/${file}`);

  test("has letters that can be read on a phone", () => {
    const width = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);
    const sizes = [...svg.matchAll(/font-size="([\d.]+)"/g)].map(([, size]) => Number(size));
    expect(Math.min(...sizes) * phoneWidth / width).toBeGreaterThanOrEqual(smallestLetters);
  });

  test("loads nothing and runs nothing", () => {
    expect(svg).not.toMatch(/<script|href=|url\((?!#)/);
  });
});

test("the picture of the demo shows a command that the first screen of the README offers", () => {
  const typed = /\$<\/tspan><tspan[^>]*>\s*([^<]+)<\/tspan>/.exec(readSource(".github/docs/pictures/demo-light.svg"))
    ?.[1];
  expect(documentCommands().filter(({ path }) => path === "README.md").map(({ text }) => text.replace(/ *#.*/, "")))
    .toContain(typed);
});

test("movingPicture shows each line when it came, scrolls, and rests at its end without motion", () => {
  const lines = ["one", "two", "three <&>"].map((text, index) => ({ text, atMs: index * 1000 }));
  const svg = movingPicture(lines, { palette: palettes.light, columns: 20, rows: 2 });
  expect(svg).toContain("#s{transform:translateY(-18px)}@media (prefers-reduced-motion:no-preference){");
  expect(svg).toContain("@keyframes l1{0%{opacity:0}12.50%{opacity:1}}");
  expect(svg).toContain("@keyframes s{0%{transform:none}25.00%{transform:translateY(-18px)}}");
  expect(svg).toContain("three &lt;&amp;&gt;");
});
