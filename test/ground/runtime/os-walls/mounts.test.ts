import { expect, test } from "vitest";
import { type ViewMount, withoutNeedless } from "../../../../core/ground/runtime/os-walls/mounts.ts";

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
