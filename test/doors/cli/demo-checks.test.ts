import { expect, test, vi } from "vitest";
import { demoChecks, type DemoEvidence } from "../../../core/doors/cli/demo/demo-checks.ts";
import { demoUsage } from "../../../core/doors/cli/demo/serve-demo.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { Artifact } from "../../../plugin-sdk/result.ts";
import { envelopesOf, fakeResult, fakeSettings } from "./fake-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

const asked = { workdir: "/w", prompt: "p" };
const held = fakeSettings();

const recorded: Envelope["event"] = { type: "progress", message: "recorded" };

function session(adapter: string, from: number): Envelope[] {
  const events: Envelope["event"][] = [
    {
      type: "session_started",
      adapter_id: adapter,
      workdir: "/w",
      task_id: null,
      labels: {},
      requested: asked,
      effective: held,
      candidates: [adapter],
      passed_over: [],
    },
    recorded,
    { type: "session_ended", result: fakeResult() },
  ];
  return envelopesOf(events, { adapter, session: adapter }).map((envelope, index): Envelope => ({
    ...envelope,
    gseq: from + index,
    source: index === 1 ? "agent" : "host",
  }));
}

function artifact(path: string): Artifact {
  return { path, change: "created", kind: "file", sha256: `of ${path}`, bytes: 1 };
}

function evidence(): DemoEvidence {
  const live = [...session("repo-census", 1), ...session("replay", 4), ...session("memory-hog", 7)];
  const paths = ["CENSUS.md", "docs/hello.txt", "greeting.txt", "hello.txt"];
  return {
    live,
    replayed: live,
    recorded: [JSON.stringify(recorded)],
    digests: new Map(paths.map((path) => [path, `of ${path}`])),
    results: new Map([
      ["repo-census", fakeResult({ artifacts: [artifact("CENSUS.md")] })],
      ["replay", fakeResult({ artifacts: paths.map(artifact) })],
      ["memory-hog", fakeResult({ stop_reason: "crash" })],
    ]),
    after: fakeResult(),
  };
}

function failed(changes: Partial<DemoEvidence>): string[] {
  return demoChecks({ ...evidence(), ...changes }).filter(({ passed }) => !passed).map(({ name }) => name);
}

test("demoChecks pass for what a sound host gives", () => {
  expect(failed({})).toEqual([]);
});

test("demoChecks fail for a session that ended otherwise", () => {
  const results = new Map(evidence().results);
  results.set("memory-hog", fakeResult());
  results.set("replay", fakeResult({ stop_reason: "crash", artifacts: results.get("replay")?.artifacts ?? null }));
  expect(failed({ results })).toEqual(["memory-hog ended as a crash", "replay completed beside it"]);
  expect(failed({ after: fakeResult({ stop_reason: "unavailable" }) }))
    .toEqual(["the host is alive and ran one more session"]);
});

test("demoChecks fail for a lost, a changed and an additional event", () => {
  const name = "replay gave every recorded event, in order";
  expect(failed({ recorded: [JSON.stringify(recorded), JSON.stringify(recorded)] })).toEqual([name]);
  expect(failed({ recorded: ["{}"] })).toEqual([name]);
  expect(failed({ recorded: [] })).toEqual([name]);
});

test("demoChecks fail for a hole, for disorder, and for a journal that says otherwise", () => {
  const { live } = evidence();
  const hole = live.filter((_, index) => index !== 1);
  expect(failed({ live: hole, replayed: hole }))
    .toEqual(["each session's events run from 1 without a hole, with one start and one end"]);
  const swapped = [...live.slice(3), ...live.slice(0, 3)];
  expect(failed({ live: swapped, replayed: swapped })).toEqual(["the merged stream is strictly ordered"]);
  expect(failed({ replayed: live.slice(0, -1) })).toEqual(["the journal replays exactly what was live"]);
  expect(failed({ replayed: live.map((envelope) => ({ ...envelope, ts: "" })) }))
    .toEqual(["the journal replays exactly what was live"]);
});

test("demoChecks fail for a missing artifact and for a wrong digest", () => {
  const name = "git shows the files that were changed, with their digests";
  expect(failed({ digests: new Map() })).toEqual([name]);
  const results = new Map(evidence().results).set("repo-census", fakeResult({ artifacts: null }));
  expect(failed({ results })).toEqual([name]);
});

test("demoUsage suggests commands as they are typed, a session that leaves the folder as it is, and the demo again", () => {
  vi.stubEnv("BULKHEAD_COMMAND", "npx bulkhead");
  try {
    const first = demoUsage({ terminal: fakeTerminal() }, { isAgain: false });
    expect(first).toContain('npx bulkhead run replay "Play it again" --workspace worktree');
    expect(first).not.toContain("npx bulkhead demo");
    expect(demoUsage({ terminal: fakeTerminal() }, { isAgain: true })).toContain("npx bulkhead demo");
  } finally {
    vi.unstubAllEnvs();
  }
});
