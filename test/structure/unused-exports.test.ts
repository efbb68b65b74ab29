import { expect, test } from "vitest";
import { namesOf } from "./exported-names.ts";
import { corpus } from "./floors.ts";
import { listFiles, readSource } from "./source.ts";

/** Values that only tests import, or that no import names: each with the reason why it is exported. */
const reasons: Record<string, string> = {
  "core/walls/worker/guest.ts serve": "the pool of threads calls it by its name",
  "core/ground/platform/engine/load-program.ts loadProgram": "the build writes the program that imports it",
  // data-keys.txt lists the keys of exported schemas.
  "core/sessions/host/state/crash-store.ts crashRecordSchema": "data in a file",
  "core/sessions/host/state/pin-store.ts binaryPinSchema": "data in a file",
  "core/sessions/routing/use-files.ts useRecordsSchema": "data in a file",
  // The tests hold these figures and tables against something else, and must not repeat them.
  "core/ground/checks/frames.ts headerBytes": "hostile frames are built with it",
  "core/kit/attack/walled-case.ts caseActors": "each has a case against each kind of thing",
  "core/kit/attack/walled-case.ts guardedThings": "each actor has a case against it",
  "core/kit/author/acp-entry.ts plainVersion": "forms of a version that few entries have",
  "core/kit/author/acp-entry.ts thisMachine": "entries of a test are for the machine it runs on",
  "core/kit/author/new-plugin.ts hostSpecifier": "a host that npm installed",
  "core/packages/registry/thrown-hint.ts contextPaths": "compared with the members that ctx has",
  "core/sessions/session/retry-policy.ts maxTries": "properties of attempts are bounded by it",
  // The tests give these functions what one machine never shows at once.
  "core/records/telemetry/post-otlp.ts readRetryAfter": "its times are checked without waiting for them",
  "core/sessions/host/close-host.ts closeInSteps": "steps that never end or fail",
  "core/doors/acp/updates.ts changedPlaces": "hunks that no agent of a test writes",
  "core/doors/http/event-framing.ts envelopeText": "compared with what JSON.stringify says of any envelope",
  "core/doors/http/problem.ts withRoutes": "every hint that names a command",
  "core/doors/cli/show-all.ts comparisonText": "hostile names of adapters",
  "core/ground/platform/places/acted-on-names.ts actedOn": "every name of every group",
  "core/ground/platform/os-walls/bubblewrap.ts parseLdd": "output of other linkers",
  "core/ground/platform/os-walls/command-chain.ts withOwnMounts":
    "a view that bwrap would make, beside one that is made",
  "core/ground/platform/os-walls/cgroup.ts probeCgroup": "trees of other hosts",
  "core/ground/platform/os-walls/prlimit.ts dataBytes": "the least of a limit",
  "core/ground/platform/os-walls/prlimit.ts openFiles": "the least of a limit",
  "core/walls/agent/closed-places.ts closedBelow": "a folder in place of the whole disk",
  "core/walls/agent/seatbelt.ts seatbeltProfile": "the profile of macOS, on Linux",
  "core/ground/platform/processes/guarded-process.ts writeTogether": "a pipe that counts its writes",
  "core/walls/broker/reach-target.ts classifyAddress": "every kind of address",
  "core/walls/broker/stream-table.ts PieceDecoder": "characters cut at every place",
  "core/ground/platform/processes/process-rows.ts parsePs": "output of the ps of other systems",
  "core/ground/platform/processes/process-rows.ts parseStat": "names of programs that imitate fields",
  "core/packages/manifest/option-permissions.ts fillPermissions": "hostile values of options",
  "core/packages/permissions/unasked-grants.ts deniedGrants": "one kind of note alone",
  "core/packages/permissions/unasked-grants.ts unaskedGrants": "one kind of note alone",
  "core/walls/broker/is-upgrade.ts withoutVersions": "paths of other installers",
};

test("every export of core, plugin-sdk and plugins is imported elsewhere, a value of ours by more than tests", () => {
  const sources = [".build", "core", "plugin-sdk", "plugins", "test"].flatMap((top) => listFiles(top, ""))
    .filter((path) => /\.(tsx?|mjs)$/.test(path));
  const entries = Object.values((JSON.parse(readSource("deno.json")) as { exports: Record<string, string> }).exports)
    .map((path) => path.replace("./", ""));
  const byProduct = new Set<string>();
  const byAny = new Set<string>();
  const exports: { path: string; name: string; kind: string }[] = [];
  for (const path of sources) {
    const { exported, taken } = namesOf(path, readSource(path));
    for (const name of taken) {
      byAny.add(name);
      if (!path.startsWith("test/") || path.startsWith(`${corpus}/`)) byProduct.add(name);
    }
    if (path.startsWith("test/") || path.startsWith(".build/") || entries.includes(path)) continue;
    exports.push(...exported.map((one) => ({ path, ...one })));
  }
  const unused = exports.filter(({ path, name, kind }) => {
    // A plugin can be taken out, so no list here names one: its values may be for its own tests.
    const taken = kind === "type" || path.startsWith("plugins/") ? byAny : byProduct;
    return !taken.has(`${path} ${name}`) && !taken.has(`${path} *`);
  }).map(({ path, name }) => `${path} ${name}`);
  expect(exports.length).toBeGreaterThan(1000);
  expect(unused.sort()).toEqual(Object.keys(reasons).sort());
});

test("namesOf tells types from values and knows every way to export", () => {
  const { exported } = namesOf(
    "mod.ts",
    `
      export { a, b as c, type D } from "./a.ts";
      export type { E } from "./e.ts";
      export const f = 1, g = 2;
      export function h(): void {}
      export class I {}
      export interface J {}
      export type K = 1;
    `,
  );
  expect(exported.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    "type D",
    "type E",
    "type J",
    "type K",
    "value I",
    "value a",
    "value c",
    "value f",
    "value g",
    "value h",
  ]);
  expect(() => namesOf("mod.ts", 'export * from "./a.ts";')).toThrow("export *");
});

test("namesOf finds what a module takes from another, by every way", () => {
  const text = [
    'import one, { a, type B, c as d } from "./a.ts";',
    'import * as all from "../b.ts";',
    'import type { E } from "bulkhead/plugin-sdk";',
    'export { f, g as h } from "./c.ts";',
    'const i = await import("./d.ts"); let j: import("./e.ts").J;',
    'export const own = 1; new URL("./f.ts", import.meta.url);',
  ].join("\n");
  expect(namesOf("core/x/x.ts", text).taken).toEqual([
    "core/x/a.ts default",
    "core/x/a.ts a",
    "core/x/a.ts B",
    "core/x/a.ts c",
    "core/b.ts *",
    "core/x/c.ts f",
    "core/x/c.ts g",
    "core/x/d.ts *",
    "core/x/e.ts *",
  ]);
});
