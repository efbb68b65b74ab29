import subset from "semver/ranges/subset.js";
import { expect, test } from "vitest";
import { readSource } from "./source.ts";

interface LockFile {
  packages: Record<string, { version?: string; optional?: boolean; engines?: { node?: string } }>;
}

const { packages } = JSON.parse(readSource("package-lock.json")) as LockFile;
const promised = packages[""]?.engines?.node ?? "";

test("every package that npm ci installs runs on each Node that ours promises", () => {
  // Code for WebAssembly is installed where there is no other: on no machine with Node's own builds.
  const installed = Object.entries(packages).filter(([path, { optional }]) => !(optional && /wasm/.test(path)));
  const others = installed.flatMap(([path, { version, engines }]) =>
    engines?.node === undefined || subset(promised, engines.node) ? [] : [`${path} ${version}: ${engines.node}`]
  );
  expect(others).toEqual([]);
});

test("documents name the oldest release of each Node that is promised, as the package does", () => {
  expect((JSON.parse(readSource("package.json")) as { engines: object }).engines).toEqual({ node: promised });
  const oldest = promised.split(" || ").map((range) => `${range.replace(/^\D+|(\.0)+$/g, "")}+`);
  const sentence = `Node ${oldest.slice(0, -1).join(", ")} or ${oldest.at(-1)}`;
  for (const name of ["README.md", ".github/docs/get-started.md", ".github/CONTRIBUTING.md", ".github/docs/walls.md"]) {
    expect(readSource(name).replaceAll("\n", " "), name).toContain(sentence);
  }
});
