import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { toErrorData } from "../../core/ground/errors/to-error-data.ts";
import { listFiles, readSource } from "../structure/source.ts";
import { faultCodes } from "./refused/faulty-files.ts";
import { stores } from "./refused/stores.ts";
import { noStores, writers } from "./refused/writers.ts";

const { faults, refusing, sentences } = await vi.hoisted(() => import("./refused/refusing.ts"));

vi.mock("node:fs/promises", (real) => refusing.promises(real));
vi.mock("node:fs", (real) => refusing.files(real));
vi.mock("../../core/ground/platform/state/sqlite.ts", (real) => refusing.sqlite(real));

let root = "";
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-refused-")));
  process.env["XDG_DATA_HOME"] = join(root, "data");
});
afterEach(async () => {
  faults.allow();
  await rm(root, { recursive: true, force: true });
});

describe.each(Object.keys(stores))("%s", (name) => {
  const { open, writesLater = false, holdsOne = false } = stores[name]!;

  test.each(faultCodes)(
    "%s at any of its writes: nothing acknowledged is lost, the cause is named, and it goes on",
    async (code) => {
      const folder = join(root, "state");
      await mkdir(folder);
      const store = await open(folder);
      const before = faults.open.size;
      let acknowledged: string[] = [];
      const noted = (value: string) => void (acknowledged = holdsOne ? [value] : [...acknowledged, value]);
      await store.write("first");
      noted("first");
      for (let pass = 0, refused = 1; refused > 0; pass++) {
        expect(pass).toBeLessThan(80);
        const value = `v${pass}`;
        faults.refuse(code, { folder: root, pass });
        const error: unknown = await store.write(value).then(() => null, (thrown: unknown) => thrown);
        faults.allow();
        refused = faults.refused;
        if (error === null && !(writesLater && refused > 0)) noted(value);
        if (error !== null) {
          expect(refused, String(error)).toBeGreaterThan(0);
          expect(said(error)).toMatch(sentences[code]);
        }
        const found = await store.read();
        expect(acknowledged.filter((one) => !found.includes(one)), `after ${pass} of ${code}`).toEqual([]);
      }
      await store.write("last");
      noted("last");
      await vi.waitFor(async () => {
        const found = await store.read();
        expect(acknowledged.filter((one) => !found.includes(one))).toEqual([]);
      });
      expect(faults.open.size - before, [...faults.open.values()].join()).toBe(0);
      await store.close?.();
    },
  );
});

describe.each(Object.keys(stores))("%s", (name) => {
  test("without descriptors it does not say that what it has is missing, and who opens it then takes nothing away", async () => {
    const folder = join(root, "state");
    await mkdir(folder);
    const { open, isNew = false } = stores[name]!;
    const store = await open(folder);
    await store.write("first");
    const again: Awaited<ReturnType<typeof open>>[] = [];
    for (let pass = 0, refused = 1; refused > 0; pass++) {
      faults.refuse("EMFILE", { folder: root, pass });
      const found = await store.read().catch(() => null);
      refused = faults.refused;
      faults.allow();
      expect([null, ["first"]], `after ${pass}`).toContainEqual(found);
    }
    await store.close?.();
    // These begin anew with each host.
    if (isNew) return;
    for (let pass = 0, refused = 1; refused > 0; pass++) {
      faults.refuse("EMFILE", { folder: root, pass, times: 1 });
      await open(folder).then((other) => again.push(other), () => {});
      refused = faults.refused;
      faults.allow();
    }
    for (const other of again) await other.close?.();
    if (store.close === undefined) expect(await store.read()).toEqual(["first"]);
  });
});

function said(error: unknown): string {
  const { message, hint } = toErrorData(error);
  const cause = error instanceof Error && error.cause instanceof Error ? toErrorData(error.cause).message : "";
  return [message, hint, cause].join(" ");
}

test("each file of the host that writes is of a store of the matrix, or of none that anybody relies on", () => {
  const known = Object.values(stores).flatMap(({ files }) => files);
  const found = listFiles("core", ".ts").filter((path) => writers(readSource(path)));
  const isKnown = (path: string) =>
    known.includes(path) || Object.keys(noStores).some((place) => path.startsWith(place));
  expect(found.filter((path) => !isKnown(path))).toEqual([]);
  const isThere = (place: string) => found.some((path) => path.startsWith(place));
  expect([...known, ...Object.keys(noStores)].filter((place) => !isThere(place))).toEqual([]);
});
