import { expect, test } from "vitest";
import { createPaint } from "../../../../core/doors/cli/render/paint.ts";
import { SessionProgress } from "../../../../core/doors/cli/render/session-progress.ts";
import { textWidth } from "../../../../core/doors/cli/render/text-width.ts";
import { changeKey, watchScreen } from "../../../../core/doors/cli/watch/watch-rows.ts";
import { type WatchedSession, WatchedSessions } from "../../../../core/doors/cli/watch/watched-sessions.ts";
import { SessionPulse } from "../../../../core/sessions/session/session-pulse.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import type { SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import type { SessionHandle } from "../../../../core/sessions/host/session-host.ts";
import { envelopesOf } from "../fake-host.ts";

const call = (id: string): Envelope["event"] => ({
  type: "tool_call",
  call_id: id,
  tool: `Tool${id}`,
  kind: "read",
  input: {},
});
const all = envelopesOf([call("1"), call("2"), call("3"), call("4")]);
const summary = (last_seq: number) =>
  ({ session_id: "s1", title: "go", started_at: "2026-01-01T00:00:00.000Z", last_seq }) as SessionSummary;

function watching(only: ReadonlySet<string> | null = null) {
  const read: number[] = [];
  const open = async () =>
    ({
      async *events({ after = 0 } = {}) {
        read.push(after);
        yield* all.slice(after);
      },
    }) as Pick<SessionHandle, "events"> as SessionHandle;
  const watched = new WatchedSessions(only, {
    sessions: { open },
    signal: new AbortController().signal,
    onChange() {},
  });
  return { watched, read, facts: () => watched.inOrder[0]?.facts };
}

test("WatchedSessions reads what came before, takes what comes, and reads what was missed", async () => {
  const { watched, read, facts } = watching();
  watched.see(all[0]!);
  expect(watched.inOrder).toEqual([]);
  await watched.compare([summary(1)]);
  expect([facts()?.seq, facts()?.doing]).toEqual([1, "Tool1"]);
  watched.see(all[1]!);
  watched.see(all[0]!);
  expect([facts()?.seq, facts()?.doing, read]).toEqual([2, "Tool2", [0]]);
  watched.see(all[3]!);
  await expect.poll(() => facts()?.seq).toBe(4);
  expect(read).toEqual([0, 2]);
});

test("WatchedSessions leaves out what was not named", async () => {
  const { watched } = watching(new Set(["s2"]));
  await watched.compare([summary(1)]);
  expect(watched.inOrder).toEqual([]);
});

function watchedOf(id: string, ...events: Envelope["event"][]): WatchedSession {
  const [facts, pulse] = [new SessionProgress(), new SessionPulse()];
  for (const envelope of envelopesOf(events)) {
    facts.see(envelope);
    pulse.take([envelope], "alpha");
  }
  return { id, title: `Title of ${id}`, startedAt: "2026-01-01T00:00:00.000Z", facts, pulse };
}

const options = {
  paint: createPaint(false),
  columns: 80,
  rows: 24,
  selected: 0,
  now: Date.parse("2026-01-01T00:03:00.000Z"),
  asked: null,
};

test("watchScreen fits any number of sessions on the screen, with the selected one among them", () => {
  const many = Array.from(
    { length: 40 },
    (_, index) => watchedOf(`s${index}`, call("x".repeat(200)), call("語".repeat(90))),
  );
  for (const selected of [0, 17, 39]) {
    const lines = watchScreen(many, { ...options, rows: 12, selected });
    expect(lines.length).toBeLessThanOrEqual(12);
    expect(lines.filter((line) => textWidth(line) > 79)).toEqual([]);
    expect(lines.filter((line) => line.startsWith("▸"))).toEqual([expect.stringContaining(`s${selected} `)]);
    expect(lines).toContain(`   and ${40 - 5} more`);
  }
});

test("watchScreen marks a long silence, and shows titles where there is room", () => {
  const marked = { ...options, paint: (tone: string, text: string) => tone === "yellow" ? `<${text}>` : text };
  const usage: Envelope["event"] = {
    type: "usage",
    scope: "turn",
    tokens_in: 1,
    tokens_out: 1,
    tokens_cached: null,
    cost: 0.5,
  };
  const plan: Envelope["event"] = {
    type: "plan",
    entries: [{ content: "Look", status: "completed" }, { content: "Tell", status: "in_progress" }],
  };
  const one = watchedOf("s1", plan, usage);
  expect(watchScreen([one], marked)[3]).toBe("▸  s1       ● runs  alpha  <3 min >  1/2   $0.50  Tell");
  expect(watchScreen([one], { ...options, columns: 120 })[3]).toBe(
    "▸  s1       ● runs  alpha  3 min   ▓▓▓░░ 1/2  $0.50  Title of s1                       Tell",
  );
  expect(watchScreen([], options)).toContain("   No session runs.");
});

test("watchScreen shows the step that the list of sessions shows, and none of an ended turn", () => {
  const plan: Envelope["event"] = { type: "plan", entries: [{ content: "Look", status: "in_progress" }] };
  const sign: Envelope["event"] = { type: "progress", message: "Watching the tests" };
  const turn = { type: "turn_ended", turn: 1 } as Envelope["event"];
  const last = (...events: Envelope["event"][]) =>
    watchScreen([watchedOf("s1", ...events)], options)[3]?.split(/ {2,}/).at(-1);
  expect(last(sign)).toBe("Watching the tests");
  expect(last(sign, call("1"), sign)).toBe("Tool1 {}");
  expect(last(plan, sign)).toBe("Look");
  expect(last(sign, turn)).toBe("running");
});

test("changeKey tells changes of step, question and end from others", () => {
  const step = (content: string): Envelope["event"] => ({
    type: "plan",
    entries: [{ content, status: "in_progress" }],
  });
  expect(changeKey(watchedOf("s1", step("a")))).toBe(changeKey(watchedOf("s1", step("a"), call("1"))));
  expect(changeKey(watchedOf("s1", step("a")))).not.toBe(changeKey(watchedOf("s1", step("b"))));
});
