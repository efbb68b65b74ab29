import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { readArchive } from "../../../core/packages/install/read-archive.ts";
import { type Member, packageOf, paxOf, tarOf, tgzOf } from "./tar-archive.ts";

const limits = defaultLimits;

async function refusal(bytes: Uint8Array, own = limits): Promise<{ code: unknown; message: string }> {
  return await readArchive(bytes, { name: "it", limits: own }).then(
    (files) => ({ code: "taken", message: [...files.keys()].join(" ") }),
    (error: Error & { code?: unknown }) => ({ code: error.code, message: error.message }),
  );
}

async function textsOf(bytes: Uint8Array): Promise<Record<string, string>> {
  const files = await readArchive(bytes, { name: "it", limits });
  return Object.fromEntries([...files].map(([path, content]) => [path, new TextDecoder().decode(content)]));
}

describe("readArchive", () => {
  it("takes plain files and folders, gzipped or not, without their first folder", async () => {
    const members: Member[] = [
      { path: "package/", type: "5" },
      { path: "package/a.txt", content: "one" },
      { path: "package/b/", type: "5" },
      { path: "package/b/c.txt", content: "x".repeat(200_000) },
      { path: "package/empty" },
      { path: "package/package", content: "its own name again" },
    ];
    const wanted = { "a.txt": "one", "b/c.txt": "x".repeat(200_000), empty: "", package: "its own name again" };
    expect(await textsOf(tarOf(members))).toEqual(wanted);
    expect(await textsOf(tgzOf(members))).toEqual(wanted);
  });

  it("takes a long path as the extended format writes it", async () => {
    const path = `package/${"d".repeat(80)}/${"e".repeat(80)}.txt`;
    expect(await textsOf(tgzOf([paxOf({ path }), { path: "package/short", content: "x" }]))).toEqual({
      [path.slice(8)]: "x",
    });
  });

  it("refuses a name that no disk takes, and takes the longest that they do", async () => {
    const named = (name: string) =>
      tgzOf([paxOf({ path: `package/${name}` }), { path: "package/short", content: "x" }]);
    for (const name of ["a".repeat(300), "é".repeat(128), `${"a".repeat(256)}/x`]) {
      expect(await refusal(named(name))).toMatchObject({
        code: "invalid_package",
        message: expect.stringContaining("has a name of more than 255 bytes"),
      });
    }
    expect(await textsOf(named("a".repeat(255)))).toEqual({ ["a".repeat(255)]: "x" });
  });

  it.each([
    "package/../../evil",
    "../evil",
    "package/a/../../../evil",
    "/etc/evil",
    "package//etc/evil",
    "package/./a",
    "package/..",
    "C:/evil",
    "package/C:evil",
    "package/a\\..\\..\\evil",
    "package/file:stream",
    "package/con",
    "package/a/NUL.txt",
    "package/lpt1.x",
    "package/name.",
    "package/name ",
    "package/.git/config",
    "package/a/.GIT/hooks/x",
    "package/line\nbreak",
    "package/\u202Etxt.exe",
    "package/zero\u200bwidth",
    "no-folder",
    "package/",
  ])("I1: refuses the path %j, and with it the whole archive", async (path) => {
    const { code, message } = await refusal(tgzOf([{ path: "package/a", content: "x" }, { path, content: "evil" }]));
    expect(code).toBe("invalid_package");
    expect(message).toMatch(/^Cannot take it: /);
  });

  it("I1: refuses a path that only the extended header has", async () => {
    const hidden = [paxOf({ path: "package/../../evil" }), { path: "package/a", content: "x" }];
    expect(await refusal(tgzOf(hidden))).toMatchObject({
      code: "invalid_package",
      message: expect.stringContaining("leads elsewhere"),
    });
  });

  it.each([
    ["a link", { type: "2", link: "/etc/passwd" }, "SymbolicLink"],
    ["a hard link", { type: "1", link: "package/a" }, "Link"],
    ["a character device", { type: "3" }, "CharacterDevice"],
    ["a block device", { type: "4" }, "BlockDevice"],
    ["a pipe", { type: "6" }, "FIFO"],
    ["a sparse file", { type: "S" }, ""],
    ["a volume", { type: "V" }, ""],
    ["an unknown kind", { type: "Z" }, ""],
  ])("I2: refuses %s", async (_, member, kind) => {
    const { code, message } = await refusal(
      tgzOf([{ path: "package/a", content: "x" }, { path: "package/b", ...member }]),
    );
    expect({ code, message }).toMatchObject({ code: "invalid_package", message: expect.stringContaining(kind) });
  });

  it("I2: refuses a program with another user's rights", async () => {
    for (const mode of [0o4755, 0o2755]) {
      expect(await refusal(tgzOf([{ path: "package/a", content: "x", mode }]))).toMatchObject({
        code: "invalid_package",
      });
    }
  });

  it.each([
    ["the same path twice", ["package/a", "package/a"]],
    ["paths that differ in letters alone", ["package/read.me", "package/READ.me"]],
    ["folders that differ in letters alone", ["package/lib/a", "package/Lib/b"]],
    ["a file that is a folder as well", ["package/a", "package/a/b"]],
    ["paths that are one after normalising", ["package/caf\u00e9", "package/cafe\u0301"]],
    ["paths of which one is a ligature", ["package/\ufb01le", "package/file"]],
    ["two first folders", ["package/a", "other/a"]],
  ])("I3: refuses %s", async (_, paths) => {
    const { code } = await refusal(
      tgzOf(paths.flatMap((path): Member[] => [paxOf({ path }), { path: "package/x", content: "x" }])),
    );
    expect(code).toBe("invalid_package");
  });

  it("I3: stops at a gzip bomb long before it is unpacked", async () => {
    const bomb = new Uint8Array(gzipSync(new Uint8Array(300 * 1024 * 1024), { level: 9 }));
    const before = performance.now();
    expect(await refusal(bomb)).toMatchObject({ code: "too_large" });
    expect(performance.now() - before).toBeLessThan(10_000);
    const small = { ...limits, package_ratio: 2 };
    const packed = packageOf({ a: "x".repeat(4_000_000) });
    expect(await refusal(packed, small)).toMatchObject({
      code: "too_large",
      message: expect.stringContaining("2 times"),
    });
  });

  it("I3: refuses what is packed twice", async () => {
    const twice = new Uint8Array(gzipSync(packageOf({ a: "x" })));
    expect(await refusal(twice)).toMatchObject({
      code: "invalid_package",
      message: "Cannot take it: it is no tar archive.",
    });
  });

  it("I3: holds to its limits of files, bytes, depth and length", async () => {
    const few = { ...limits, package_files: 3, package_unpacked_bytes: 100 };
    expect(await refusal(packageOf({ a: "", b: "", c: "", d: "" }), few)).toMatchObject({
      code: "too_large",
      message: "Cannot take it: it has more than 3 entries.",
    });
    expect(await refusal(packageOf({ a: "x".repeat(60), b: "x".repeat(60) }), few)).toMatchObject({
      code: "too_large",
    });
    expect(await refusal(packageOf({ a: "x" }), { ...limits, package_bytes: 10 })).toMatchObject({ code: "too_large" });
    const deep = Array.from({ length: 40 }, () => "d").join("/");
    expect(await refusal(packageOf({ [deep]: "x" }))).toMatchObject({ code: "invalid_package" });
    const long = `package/${"x".repeat(600)}`;
    expect(await refusal(tgzOf([paxOf({ path: long }), { path: "package/a", content: "x" }]))).toMatchObject({
      code: "invalid_package",
    });
  });

  it("I3: takes no place for a file that only says that it is huge", async () => {
    const liar = tgzOf([{ path: "package/a", content: "x", size: 0o7777777777 }]);
    expect(await refusal(liar)).toMatchObject({ code: "too_large" });
    expect(await refusal(tgzOf([{ path: "package/a", content: "x", size: 4096 }]))).toMatchObject({
      code: "invalid_package",
    });
  });

  it("refuses what is no archive, is cut off or has a wrong sum", async () => {
    const whole = tarOf([{ path: "package/a", content: "x".repeat(2000) }, { path: "package/b", content: "y" }]);
    expect(await refusal(new TextEncoder().encode("hello"))).toMatchObject({ code: "invalid_package" });
    expect(await refusal(new Uint8Array(0))).toMatchObject({ code: "invalid_package" });
    expect(await refusal(whole.slice(0, 1024))).toMatchObject({ code: "invalid_package" });
    expect(await refusal(tgzOf([{ path: "package/a" }]).slice(0, 40))).toMatchObject({ code: "invalid_package" });
    const spoilt = whole.slice();
    spoilt[10] = 1;
    expect(await refusal(spoilt)).toMatchObject({ code: "invalid_package" });
    expect(await refusal(tarOf([]))).toMatchObject({ code: "invalid_package" });
  });

  it("never ends otherwise than with files or a refusal, whatever is changed in an archive", async () => {
    const whole = tarOf([{ path: "package/a", content: "x".repeat(700) }, { path: "package/b/", type: "5" }, {
      path: "package/b/c",
      content: "z",
    }]);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }),
        async (changes) => {
          const bytes = whole.slice();
          for (const [at, value] of changes) bytes[at] = value;
          const { code, message } = await refusal(bytes);
          expect(["taken", "invalid_package", "too_large"]).toContain(code);
          if (code === "taken") expect(message).not.toMatch(/(^|[ /])\.\.?([ /]|$)|^\/|\\/);
        },
      ),
      { numRuns: 300 },
    );
  });
});
