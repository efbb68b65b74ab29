import fc from "fast-check";
import { expect, test } from "vitest";
import { isBelow, isInside, join } from "../../../../core/ground/platform/files/paths.ts";

const name = fc.stringMatching(/^[a-z.]{1,4}$/).filter((text) => text !== "." && text !== "..");
const folder = fc.array(name, { maxLength: 4 }).map((names) => `/${names.join("/")}`);

test("isInside: a folder and all below it are inside, whatever detours the path takes", () => {
  fc.assert(fc.property(folder, fc.array(name, { maxLength: 4 }), name, (root, names, detour) => {
    expect(isInside(root, join(root, detour, "..", ...names))).toBe(true);
    expect(isInside(root, `${root}/${detour}/../${names.join("/")}`)).toBe(true);
  }));
});

test("isInside: nothing beside or above a folder is inside, however alike the names are", () => {
  fc.assert(fc.property(folder.filter((root) => root !== "/"), fc.array(name, { maxLength: 3 }), (root, names) => {
    expect(isInside(root, [`${root}x`, ...names].join("/"))).toBe(false);
    expect(isInside(root, join(root, "..", ...names.map((one) => `-${one}`)))).toBe(false);
  }));
});

test("isInside: a name that begins with two dots leads nowhere", () => {
  expect(isInside("/a", "/a/..b/c")).toBe(true);
  expect(isInside("/a", "/..a")).toBe(false);
});

test("isBelow: as isInside, but for the folder itself", () => {
  fc.assert(fc.property(folder, folder, (one, other) => {
    expect(isBelow(one, other)).toBe(isInside(one, other) && join(one) !== join(other));
  }));
});
