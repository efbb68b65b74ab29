import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { agentRows } from "../../../core/doors/cli/render/agent-rows.ts";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { describeAgent } from "../../../core/sessions/routing/agent-report.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { fakeAgent, fakePlugin } from "../../doors/cli/fake-host.ts";

function plugin(tested: Record<string, string>, binary = "agent", config: Record<string, unknown> = {}) {
  const { manifest } = fakePlugin("alpha");
  const permissions = { run: [{ binary }] };
  return { manifest: { ...manifest, permissions, tested } satisfies Manifest, config };
}

/** The part of a report that is about versions. */
function testedVersions(
  { manifest, config }: { manifest: Manifest; config: Record<string, unknown> },
  version?: string,
) {
  const stopped = {
    availability: "disabled" as const,
    reason: "It is off.",
    ...(version === undefined ? {} : { version }),
  };
  const { report } = describeAgent({
    plugin: { ...fakePlugin("alpha"), manifest, config },
    found: { stopped },
    useOf: () => ({ limitedUntil: null }) as never,
    now: 0,
  });
  const { tested, newer_than_tested } = report;
  return {
    ...(tested === undefined ? {} : { tested }),
    ...(newer_than_tested === undefined ? {} : { newer_than_tested }),
  };
}

describe("describeAgent", () => {
  const range = "1.2.0 - 1.4.2";
  test.each([
    ["1.4.2", undefined],
    ["1.3.9", undefined],
    ["1.0.0", undefined],
    ["1.4.3", true],
    ["2.0.0", true],
    ["1.10.0", true],
    ["agent-cli 1.4.3 (build 7)", true],
    ["v1.5", true],
    ["1.5.0-beta.1", true],
    ["1.4.2-beta.1", undefined],
    ["a nightly one", undefined],
    [undefined, undefined],
  ])("tells that %s is newer: %s", (version, newer_than_tested) => {
    const told = newer_than_tested === undefined ? {} : { newer_than_tested };
    expect(testedVersions(plugin({ agent: range }), version)).toEqual({ tested: range, ...told });
  });

  test("says nothing of a program that the manifest does not name", () => {
    expect(testedVersions(plugin({ other: range }), "9.0.0")).toEqual({});
    expect(testedVersions(plugin({}), "9.0.0")).toEqual({});
    expect(testedVersions(plugin({ constructor: range }, "toString"), "9.0.0")).toEqual({});
  });

  test("knows the program of an entry by its options", () => {
    const { manifest, config } = plugin({ one: "1.0.0", two: "2.0.0" }, "third");
    const made: Manifest = {
      ...manifest,
      permissions_for: { agent: { first: { run: [{ binary: "one" }] }, second: { run: [{ binary: "two" }] } } },
      config: { type: "object", properties: { agent: { type: "string", enum: ["first", "second"] } } },
    };
    const of = (agent: string) => testedVersions({ manifest: made, config: { agent } }, "1.5.0");
    expect(of("first")).toEqual({ tested: "1.0.0", newer_than_tested: true });
    expect(of("second")).toEqual({ tested: "2.0.0" });
    expect(testedVersions({ manifest: made, config }, "1.5.0")).toEqual({});
  });
});

test("agents and doctor show it beside the reason", () => {
  const [row] = agentRows([fakeAgent("alpha", { tested: "1.4.2", newer_than_tested: true })]);
  expect(row).toMatchObject({
    cells: expect.arrayContaining([
      expect.objectContaining({ text: "It is here. It is newer than this plugin was tested with (1.4.2)." }),
    ]),
  });
  expect(JSON.stringify(agentRows([fakeAgent("alpha", { tested: "1.4.2" })]))).not.toContain("newer");
});

test("bundled plugins name the versions that the proving ground runs", async () => {
  const folder = new URL("../../../plugins/", import.meta.url);
  const pinned = new Map<string, string>();
  for (const lot of ["", "more/"]) {
    const file = new URL(`../../agents/programs/${lot}package.json`, import.meta.url);
    const { dependencies } = JSON.parse(await readFile(file, "utf8")) as { dependencies: Record<string, string> };
    for (const [name, version] of Object.entries(dependencies)) pinned.set(name, version);
  }
  const wrong: string[] = [];
  for (const id of await readdir(folder)) {
    const { install = {}, tested = {} } = await readManifest(fileURLToPath(new URL(id, folder)));
    for (const [program, how] of Object.entries(install)) {
      const version = pinned.get(how.replace("npm install -g ", ""));
      if (version !== undefined && !tested[program]?.endsWith(version)) wrong.push(`${id}: ${program} ${version}`);
    }
  }
  expect(wrong).toEqual([]);
});
