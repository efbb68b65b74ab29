import fc from "fast-check";
import { expect, test } from "vitest";
import { gathered, mostPlaces, parentsOf, type ViewMount, withoutNeedless } from "../../../core/walls/agent/mounts.ts";
import { isInside } from "../../../core/ground/platform/files/paths.ts";

const seen = (at: string): ViewMount => ({ at, args: ["--ro-bind", at, at] });
const writable = (at: string): ViewMount => ({ at, args: ["--bind", at, at] });
const empty = (at: string): ViewMount => ({ at, args: ["--tmpfs", at] });

/** In the order that the view has them. */
function placesOf(...mounts: ViewMount[]): string[] {
  const sorted = [...mounts].sort((a, b) => a.at.length - b.at.length);
  return withoutNeedless(sorted).map(({ at, args }) => `${args[0]} ${at}`);
}

test("withoutNeedless leaves out what the disk shows anyway, and what is there twice", () => {
  expect(placesOf(seen("/opt/tool"), seen("/opt/tool/bin"), writable("/w"), seen("/w/.git"), seen("/w/.git"))).toEqual([
    "--bind /w",
    "--ro-bind /w/.git",
  ]);
  expect(placesOf(seen("/w/.git"), writable("/w/.git"), writable("/w"))).toEqual(["--bind /w", "--bind /w/.git"]);
});

test("withoutNeedless keeps what lies in a place that is covered, writable or another one", () => {
  const elsewhere: ViewMount = { at: "/home/me", args: ["--bind", "/private", "/home/me"] };
  const all = [empty("/run"), seen("/run/dns"), elsewhere, seen("/home/me/.cargo"), empty("/home/me/.cargo/keys")];
  expect(placesOf(...all, seen("/home/me/.cargo/keys/one"), seen("/home/me/.cargo/bin"))).toEqual([
    "--tmpfs /run",
    "--ro-bind /run/dns",
    "--bind /home/me",
    "--ro-bind /home/me/.cargo",
    "--tmpfs /home/me/.cargo/keys",
    "--ro-bind /home/me/.cargo/keys/one",
  ]);
  // A hidden folder that is shown again, and a folder whose name begins as another's.
  expect(placesOf(empty("/a"), seen("/a"), seen("/ab"))).toEqual(["--tmpfs /a", "--ro-bind /a"]);
});

test("withoutNeedless hides nothing in a new folder, unless something is shown there", () => {
  const hidden = (at: string): ViewMount => ({ at, args: ["--tmpfs", at], hides: true });
  const home: ViewMount = { at: "/home/me", args: ["--bind", "/private", "/home/me"], isNew: true };
  const all = [
    home,
    hidden("/home/me/.ssh"),
    hidden("/home/me/state"),
    writable("/home/me/state/temp"),
    hidden("/keys"),
  ];
  expect(placesOf(...all)).toEqual([
    "--tmpfs /keys",
    "--bind /home/me",
    "--tmpfs /home/me/state",
    "--bind /home/me/state/temp",
  ]);
  // What is mounted in the new folder is none itself.
  expect(placesOf(home, writable("/home/me/work"), hidden("/home/me/work/keys"))).toContain(
    "--tmpfs /home/me/work/keys",
  );
  expect(placesOf(seen("/home/me"), hidden("/home/me/.ssh"))).toContain("--tmpfs /home/me/.ssh");
});

const place = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 4 }).map((names) => `/${names.join("/")}`);
const mount: fc.Arbitrary<ViewMount> = fc.tuple(
  place,
  fc.constantFrom("seen", "written", "hidden", "new"),
  fc.boolean(),
)
  .map(([at, kind, isOdd]) => {
    const named = isOdd ? `${at}/` : at;
    if (kind === "hidden") return { at: named, args: ["--tmpfs", named], hides: true };
    if (kind === "new") return { at: named, args: ["--bind", "/private", named], isNew: true };
    return { at: named, args: [kind === "seen" ? "--ro-bind" : "--bind", named, named] };
  });

/** The kind of mount that a path lies in; places that were empty when they were mounted hide nothing. */
function seenAt(mounts: readonly ViewMount[], path: string): string {
  const [last] = mounts.filter(({ at }) => isInside(at, path))
    .sort((one, other) => depth(other.at) - depth(one.at) || mounts.indexOf(other) - mounts.indexOf(one));
  if (last === undefined) return "disk, read-only";
  if (last.isNew === true || last.hides === true) return "empty";
  return last.args[0] === "--bind" ? "disk, writable" : "disk, read-only";
}

function depth(path: string): number {
  return path.split("/").filter((name) => name !== "").length;
}

test("withoutNeedless changes nothing of what a program sees, however the places lie to each other", () => {
  fc.assert(
    fc.property(fc.array(mount, { maxLength: 8 }), fc.array(place, { minLength: 1, maxLength: 8 }), (all, paths) => {
      const sorted = all.filter(({ at }) => depth(at) > 0).sort((one, other) => depth(one.at) - depth(other.at));
      const left = withoutNeedless(sorted);
      for (const path of [...paths, ...sorted.map(({ at }) => `${at}/file`)]) {
        expect(seenAt(left, path), path).toBe(seenAt(sorted, path));
      }
    }),
    { numRuns: 400 },
  );
});

test("parentsOf finds the folders between a place and the writable one around it, and no others", () => {
  expect(parentsOf(["/w/a/b/c", "/w/a/d", "/w/e", "/other/x/y"], ["/w"])).toEqual(["/w/a/b", "/w/a"]);
  // A writable folder in another: what lies between them could be moved as well.
  expect(parentsOf(["/w/a/b/c"], ["/w", "/w/a/b"]).sort()).toEqual(["/w/a", "/w/a/b"]);
});

test("gathered leaves few places as they are, and of many those that share a folder become that folder", () => {
  const places = (count: number, path: (number: number) => string) =>
    Array.from({ length: count }, (_, at) => path(at));
  const few = places(mostPlaces, (number) => `/w/plugins/p${number}`);
  expect(gathered(few, "/w")).toEqual(few);
  expect(gathered([...few, "/w/lib/one", "/w/AGENTS.md"], "/w")).toEqual(["/w/plugins", "/w/lib/one", "/w/AGENTS.md"]);
  expect(gathered(places(20_000, (number) => `/w/all/p${number}/mod`), "/w")).toEqual(["/w/all"]);
  // Nothing but the project holds those at its top, and what lies elsewhere is not its.
  const top = places(300, (number) => `/w/p${number}`);
  expect(gathered(top, "/w")).toEqual(top);
  const elsewhere = places(300, (number) => `/opt/p${number}`);
  expect(gathered(elsewhere, "/w")).toEqual(elsewhere);
});
