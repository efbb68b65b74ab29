import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { absolutePath, locate } from "../../../../core/ground/platform/files/contain-path.ts";
import { isInside } from "../../../../core/ground/platform/files/paths.ts";

let root = "";
let inside = "";

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-contain-")));
  inside = join(root, "in");
  await mkdir(join(inside, "sub", "deep"), { recursive: true });
  await mkdir(join(root, "in-evil"));
  await mkdir(join(root, "out", "sub"), { recursive: true });
  for (const file of ["in/a", "in/sub/a", "in-evil/a", "out/a", "out/sub/a"]) await writeFile(join(root, file), file);
  const links = {
    "in/up": "..",
    "in/away": "../out",
    "in/far": join(root, "out", "sub"),
    "in/near": "sub/deep",
    "in/sub/back": "../..",
    "in/hanging": "../out/not-there",
    "in/loop": "loop",
    "in/sub/file-link": "../../out/a",
    "out/home": "../in/sub",
  };
  for (const [link, target] of Object.entries(links)) await symlink(target, join(root, link));
});

afterAll(() => rm(root, { recursive: true, force: true }));

describe("isInside", () => {
  test.each([
    ["/data/app", "/data/app", true],
    ["/data/app", "/data/app/x", true],
    ["/data/app", "/data/app-evil", false],
    ["/data/app", "/data/app-evil/x", false],
    ["/data/app", "/data", false],
    ["/data/app", "/data/app/../x", false],
    ["/data/app", "/data/app/..x", true],
    ["/", "/anything", true],
  ])("of %s and %s is %s", (folder, path, expected) => {
    expect(isInside(folder, path)).toBe(expected);
  });

  test("agrees with comparing whole segments", () => {
    const segments = fc.array(fc.constantFrom("a", "b", "ab", "a-b", "..a"), { maxLength: 4 });
    fc.assert(fc.property(segments, segments, (one, two) => {
      const expected = one.every((segment, index) => two[index] === segment);
      expect(isInside(`/${one.join("/")}`, `/${two.join("/")}`)).toBe(expected);
    }));
  });
});

describe("absolutePath", () => {
  const bases = { workdir: "/w/d", dataDir: "/state/data" };

  test.each([
    ["a/b", "/w/d/a/b"],
    ["./a/../b", "/w/d/b"],
    ["../x", "/w/x"],
    ["/etc/passwd", "/etc/passwd"],
    ["~/x", "/w/d/~/x"],
    ["%2e%2e/x", "/w/d/%2e%2e/x"],
    ["data:notes/x", "/state/data/notes/x"],
    ["data:/x", "/state/data/x"],
  ])("makes %s to %s", (path, absolute) => {
    expect(absolutePath(path, bases)).toBe(absolute);
  });

  test.each(["a\0b", "a\nb", "a\u007f", "a\ud800"])("refuses %j", (path) => {
    expect(() => absolutePath(path, bases)).toThrow(expect.objectContaining({ code: "invalid_request" }));
  });
});

describe("locate", () => {
  const segment = fc.constantFrom(
    ..."a,sub,deep,up,away,far,near,back,hanging,loop,file-link,in,out,home,in-evil,new,..,.".split(","),
  );

  test("gives a path whose real place is itself, for any path through any links", async () => {
    const path = fc.array(segment, { maxLength: 7 });
    await fc.assert(
      fc.asyncProperty(path, async (segments) => {
        const wanted = absolutePath(segments.join("/") || ".", { workdir: inside, dataDir: inside });
        const { path: place, missing, fault } = await locate(wanted, { followLast: true });
        if (fault !== null) return;
        const oracle = await realpath(wanted).catch(() => null);
        if (oracle !== null) {
          expect({ place, missing }).toEqual({ place: oracle, missing: [] });
          return;
        }
        // Nothing there: what exists of it is real, and no name that is missing can be a link.
        const existing = missing.reduce((at) => join(at, ".."), place);
        expect(await realpath(existing)).toBe(existing);
        expect(missing.length).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });

  test("never lets a read through a contained place see what is outside", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(segment, { maxLength: 7 }), async (segments) => {
        const wanted = absolutePath(segments.join("/") || ".", { workdir: inside, dataDir: inside });
        const { path: place, fault } = await locate(wanted, { followLast: true });
        if (fault !== null || !isInside(inside, place)) return;
        const text = await readFile(place, "utf8").catch(() => "in/");
        expect(text).toMatch(/^in\//);
      }),
      { numRuns: 500 },
    );
  });

  test("takes a link at the end for itself when asked to", async () => {
    expect(await locate(join(inside, "away"), { followLast: false })).toMatchObject({ path: join(inside, "away") });
    expect(await locate(join(inside, "away", "a"), { followLast: false })).toMatchObject({
      path: join(root, "out", "a"),
    });
  });

  test("faults a link that leads nowhere, at the end and on the way", async () => {
    for (const path of ["hanging", "hanging/x", "loop"]) {
      expect((await locate(join(inside, path), { followLast: true })).fault).toMatchObject({ code: "io_error" });
    }
  });

  test("lists the names that do not exist yet", async () => {
    expect(await locate(join(inside, "near", "x", "y"), { followLast: true })).toEqual({
      path: join(inside, "sub", "deep", "x", "y"),
      missing: ["x", "y"],
      fault: null,
    });
  });
});
