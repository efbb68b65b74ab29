import { readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { breachesOf, circlesIn, corpus, levelOf, linkMap, roomOf } from "./floors.ts";
import { type Link, linksOf, listFiles, readSource, root } from "./source.ts";

const links = linkMap("core", "plugin-sdk", corpus);

describe("floors", () => {
  test("imports in core and plugin-sdk go down only", () => {
    expect([...links].flatMap(([path, found]) => breachesOf(path, found))).toEqual([]);
  });

  test("every import of a file leads to a file", () => {
    const lost = [...links].flatMap(([path, found]) =>
      found.filter(({ target, kind }) => target !== null && kind !== "url" && !links.has(target))
        .map(({ specifier, line }) => `${path}:${line} ${specifier}`)
    );
    expect(lost).toEqual([]);
  });

  test("no circle of imports", () => {
    expect(circlesIn(links)).toEqual([]);
  });

  test("every room of core stands in its wing", () => {
    const files = [...links.keys()].filter((path) => path.startsWith("core/"));
    expect(files.filter((path) => levelOf(path) === null)).toEqual([]);
  });

  test("packages that core imports are dependencies, and node: is imported in core/ground/platform and core/walls/agent alone", () => {
    const { dependencies, devDependencies } = JSON.parse(readSource("package.json")) as Record<
      "dependencies" | "devDependencies",
      Record<string, string>
    >;
    const foreign = [...links].flatMap(([path, found]) =>
      found.filter(({ target, specifier }) =>
        // The console's page is built with its libraries inside, so that no installation needs them.
        target === null &&
        !Object.hasOwn(
          path.startsWith("core/doors/console/page/") ? devDependencies : dependencies,
          packageOf(specifier),
        ) &&
        !(specifier.startsWith("node:") && /^core\/(?:ground\/platform|walls\/agent)\//.test(path))
      ).map(({ specifier, line }) => `${path}:${line} ${specifier}`)
    );
    expect(foreign).toEqual([]);
  });
});

describe("doors", () => {
  const doorstep = [
    "session-host.ts",
    "run-session.ts",
    "asked-requests.ts",
    "event-sentence.ts",
    "earlier-session.ts",
  ];
  // Its schemas are those of the host's own interface.
  const schemas = "core/sessions/session/schemas/conversations.ts";
  const ground = ["channel", "checks", "config", "errors", "platform", "plugin-sdk"];

  for (const door of ["mcp", "acp"]) {
    test(`${door} knows sessions through what the host says of them alone`, () => {
      const wrong = [...links].filter(([path]) => roomOf(path) === door).flatMap(([path, found]) =>
        found.filter(({ target }) => {
          if (target === null || roomOf(target) === door || ground.includes(roomOf(target))) return false;
          if (target === schemas) return false;
          return roomOf(target) !== "host" || !doorstep.includes(posix.basename(target));
        }).map(({ specifier, line }) => `${path}:${line} ${specifier}`)
      );
      expect(wrong).toEqual([]);
    });
  }
});

describe("plugins", () => {
  for (const plugin of folders("plugins")) {
    test(`${plugin} imports, of ours, the SDK alone, and else what its package.json names`, () => {
      const own = JSON.parse(readSource(`plugins/${plugin}/package.json`)) as { dependencies?: Record<string, string> };
      const wrong = listFiles(`plugins/${plugin}`).flatMap((path) =>
        linksOf(path).filter((link) => !mayImport(plugin, link, Object.keys(own.dependencies ?? {})))
          .map(({ specifier, line }) => `${path}:${line} ${specifier}`)
      );
      expect(wrong).toEqual([]);
    });
  }

  test("mayImport keeps a plugin inside its folder and away from the core", () => {
    const link = (path: string, text: string): Link => linksOf(path, text)[0] as Link;
    const may = (text: string): boolean => mayImport("demo", link("plugins/demo/mod.ts", text), ["zod"]);
    expect(may('import { a } from "bulkhead/plugin-sdk";')).toBe(true);
    expect(may('import { a } from "./parse.ts";')).toBe(true);
    expect(may('import { a } from "zod/mini";')).toBe(true);
    expect(may('import { a } from "bulkhead";')).toBe(false);
    expect(may('import { a } from "bulkhead/plugin-sdk/testing";')).toBe(false);
    expect(may('import { a } from "../other/mod.ts";')).toBe(false);
    expect(may('import type { A } from "../../plugin-sdk/mod.ts";')).toBe(false);
    expect(may('import { a } from "node:fs";')).toBe(false);
    expect(may('import { a } from "yaml";')).toBe(false);
  });
});

describe("breachesOf", () => {
  const check = (path: string, text: string): number => breachesOf(path, linksOf(path, text)).length;

  test("lets a room import what is below it", () => {
    expect(check("core/sessions/session/run.ts", 'import { a } from "../../records/journal/journal.ts";')).toBe(0);
    expect(check("core/records/journal/a.ts", 'import { a } from "../../../plugin-sdk/events.ts";')).toBe(0);
    expect(check("core/records/git/a.ts", 'import { a } from "./b.ts";')).toBe(0);
    expect(check("core/mod.ts", 'export { a } from "./sessions/host/a.ts";')).toBe(0);
  });

  test("refuses what is above, also as a type or when asked for later", () => {
    expect(check("core/records/journal/a.ts", 'import { a } from "../../sessions/session/a.ts";')).toBe(1);
    expect(check("core/records/journal/a.ts", 'import type { A } from "../../sessions/session/a.ts";')).toBe(1);
    expect(check("core/walls/pool/a.ts", 'await import("../../sessions/host/a.ts");')).toBe(1);
    expect(check("core/sessions/host/a.ts", 'import { a } from "../../mod.ts";')).toBe(1);
    expect(check("plugin-sdk/a.ts", 'import type { A } from "../core/ground/config/limits.ts";')).toBe(1);
    expect(check("plugin-sdk/a.ts", 'import { z } from "zod";')).toBe(1);
  });

  test("lets rooms of one floor share types and nothing else", () => {
    expect(check("core/walls/broker/a.ts", 'import type { A } from "../../records/journal/a.ts";')).toBe(0);
    expect(check("core/walls/broker/a.ts", 'import { a } from "../../records/journal/a.ts";')).toBe(1);
    expect(check("core/doors/http/a.ts", 'import { a } from "../mcp/a.ts";')).toBe(1);
  });

  test("knows that a URL of a worker imports nothing, and that one of another room would", () => {
    expect(check("core/ground/platform/a.ts", 'new URL("../../walls/worker/guest.ts", import.meta.url);')).toBe(0);
    expect(check("core/ground/platform/a.ts", 'new URL("../../sessions/host/host.ts", import.meta.url);')).toBe(1);
  });

  test("holds the client to the SDK's types", () => {
    expect(check("core/doors/client/a.ts", 'import type { A } from "../../../plugin-sdk/events.ts";')).toBe(0);
    expect(check("core/doors/client/a.ts", 'import { a } from "../../../plugin-sdk/events.ts";')).toBe(1);
    expect(check("core/doors/client/a.ts", 'import type { A } from "../../sessions/host/host.ts";')).toBe(1);
    expect(check("core/doors/client/a.ts", 'import { z } from "zod";')).toBe(1);
  });

  test("refuses a room that stands on no floor", () => {
    expect(check("core/walls/attic/a.ts", 'import { a } from "../../sessions/host/host.ts";')).toBe(1);
    expect(check("core/sessions/host/a.ts", 'import { a } from "../../../test/a.ts";')).toBe(1);
  });

  test("knows wings of one floor as blind to each other, and a room only in its wing", () => {
    expect(check("core/walls/pool/a.ts", 'import { a } from "../../records/git/a.ts";')).toBe(1);
    expect(check("core/walls/pool/a.ts", 'import type { A } from "../../packages/registry/a.ts";')).toBe(0);
    expect(check("core/walls/pool/a.ts", 'import { a } from "../channel/a.ts";')).toBe(0);
    expect(check("core/walls/channel/a.ts", 'import { a } from "../pool/a.ts";')).toBe(1);
    expect(check("core/records/pool/a.ts", 'import { a } from "../../ground/log/a.ts";')).toBe(1);
  });
});

test("circlesIn finds a circle, of types and of later imports too", () => {
  const circle = (text: string) =>
    circlesIn(new Map([["a/a.ts", linksOf("a/a.ts", 'import "./b.ts";')], ["a/b.ts", linksOf("a/b.ts", text)]]));
  expect(circle('import { a } from "./a.ts";')).toEqual([["a/a.ts", "a/b.ts"]]);
  expect(circle('import type { A } from "./a.ts";')).toEqual([["a/a.ts", "a/b.ts"]]);
  expect(circle('await import("./a.ts");')).toEqual([["a/a.ts", "a/b.ts"]]);
  expect(circle('new URL("./a.ts", import.meta.url);')).toEqual([]);
});

function mayImport(plugin: string, { specifier, target }: Link, dependencies: string[]): boolean {
  if (target !== null) return posix.normalize(target).startsWith(`plugins/${plugin}/`);
  return specifier === "bulkhead/plugin-sdk" || dependencies.includes(packageOf(specifier));
}

/** Name of the package of a specifier such as `@scope/name/part`. */
function packageOf(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

function folders(parent: string): string[] {
  try {
    return readdirSync(join(root, parent), { withFileTypes: true }).filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
