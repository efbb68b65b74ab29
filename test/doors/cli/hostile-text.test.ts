import fc from "fast-check";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentHead, agentRows } from "../../../core/doors/cli/render/agent-rows.ts";
import { logText } from "../../../core/doors/cli/render/log-text.ts";
import { createPaint } from "../../../core/doors/cli/render/paint.ts";
import { tableLines } from "../../../core/doors/cli/render/table.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { comparisonText } from "../../../core/doors/cli/show-all.ts";
import type { Host } from "../../../core/sessions/host/host.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { adapterEventSchemas } from "../../../plugin-sdk/events.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { Value } from "@sinclair/typebox/value";
import { anyEvent, hostEvents } from "../acp/any-event.ts";
import { envelopesOf, fakeAgent, fakeHost, fakeResult, noWorkspaces } from "./fake-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

/** Colours, a reset, an 8-bit CSI, a direction and a line separator: a terminal obeys them, a reader is deceived. */
const poison = "\u001b[31m\u001bc\u009b3m\u202e\u2066\u200b\u2028\u007f";
// deno-lint-ignore no-control-regex
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2028\u202a-\u202e\u2066-\u2069]/;

/** The host's own way to redraw its status line. */
// deno-lint-ignore no-control-regex
const statusErased = /(?:\u001b\[\d+A)?\r\u001b\[[JK]/g;

/** Words that code decides by: everything else that an agent sends is poisoned. */
const words = new Set(["type", "action", "stream", "status", "decision", "state", "change", "outcome", "availability"]);

/** The value with each of its texts poisoned, and the keys of its maps too. */
function poisoned<T>(value: T, key = ""): T {
  if (typeof value === "string") return (words.has(key) ? value : `${value}${poison}`) as T;
  if (Array.isArray(value)) return value.map((item) => poisoned(item as unknown)) as T;
  if (typeof value !== "object" || value === null) return value;
  const named = (name: string) => (key === "labels" || key === "input" ? `${name}${poison}` : name);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [named(name), poisoned(item, name)])) as T;
}

const events: Envelope["event"][] = [
  ...fc.sample(anyEvent, { numRuns: 400, seed: 7 }),
  ...Object.values(hostEvents).filter(({ type }) => type !== "session_ended"),
  { type: "usage", scope: "turn", tokens_in: 1, tokens_out: 1, tokens_cached: null, cost: 1, currency: "EUR" } as const,
].filter(({ type }) => type !== "session_ended").map((event) => poisoned(event));

const result: SessionResult = poisoned(fakeResult({
  stop_reason: "fatal",
  error: { code: "crash", message: "It died.", hint: "Try again.", details: { stack: "at a\n    at b" } },
  artifacts: [
    { path: "a.txt", change: "renamed", from: "b.txt", bytes: 1, sha256: "0".repeat(64) },
    { path: "c.txt", change: "created", bytes: null, sha256: null },
  ] as unknown as NonNullable<SessionResult["artifacts"]>,
  claimed_only: ["d.txt"],
  substitutions: [{ from: "alpha", to: "beta", reason: "It died." }] as unknown as SessionResult["substitutions"],
  effective: { ...fakeResult().effective, workspace: "inplace", unenforced: ["model"] },
  usage: { ...fakeResult().usage, currency: "EUR", cost: 1 },
}));

const summary: SessionSummary = poisoned({
  session_id: "s1",
  state: "ended",
  adapter_id: "alpha",
  workdir: "/w",
  title: "go",
  task_id: "t",
  labels: { a: "b" },
  started_at: "2026-01-01T00:00:00.000Z",
  ended_at: "2026-01-01T00:00:01.000Z",
  outcome: "error",
  stop_reason: "fatal",
  last_seq: 3,
  conversation_id: "s1",
  waiting: [{ request_id: "r", type: "question", text: "Which?", choices: ["x"] }],
});

/** A host whose every answer is poisoned. */
async function hostileHost(): Promise<Pick<Parameters<typeof runCli>[1] & object, "createHost">> {
  const workspace = poisoned({
    session_id: "s1",
    state: "open",
    workdir: "/w",
    repository: "/r",
    folder: "/f",
    base_commit: "0123",
    base_tree: "0123",
    created_at: "2026-01-01T00:00:00.000Z",
    ended_at: null,
    kept_commit: null,
    conflict: null,
    running: false,
  });
  const artifacts = result.artifacts!;
  const held = [{ path: poison, kind: "link_out", change: "new", by: poison, why: poison, target: poison }];
  const fake = fakeHost({
    events,
    result,
    agents: [poisoned(fakeAgent("alpha", { next_step: "Log in.", access_mode: { type: "api" } as never }))],
    workspaces: {
      ...noWorkspaces,
      list: () => Promise.resolve([workspace] as never),
      held: () => Promise.resolve([{ session_id: "s1", place: "inplace", folder: poison, at: poison, held }] as never),
      diff: () =>
        Promise.resolve({
          artifacts,
          held,
          patch: new TextEncoder().encode(poison),
        } as never),
    },
  });
  return {
    createHost: async (options) => {
      const host: Host = await fake.create(options);
      const handle = () =>
        Promise.resolve({
          id: "s1",
          events: async function* () {
            yield* envelopesOf(events, { adapter: `alpha${poison}` });
          },
          result: () => Promise.resolve(result),
          interrupt: () => Promise.resolve(result),
          answer: () => Promise.resolve(true),
        });
      return {
        ...host,
        sessions: {
          ...host.sessions,
          list: () => Promise.resolve([summary]),
          get: () => Promise.resolve(summary),
          open: handle,
          history: () =>
            Promise.resolve(poisoned({
              grants: {},
              attempts: [{ attempt: 1, adapter_id: "alpha", error_code: "crash" }],
              children: [{ program: "agent", pid: 1, ended_at: null }],
            }) as never),
        },
      };
    },
  };
}

async function cli(...args: string[]): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), "bulkhead-text-"));
  try {
    await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 1\n");
    // The line that waits for agents is drawn with codes of the host itself.
    const terminal = fakeTerminal({ args: [...args, "--embedded"], cwd, tty: args[0] !== "agents", columns: 200 });
    await runCli(terminal, await hostileHost());
    return `${terminal.out()}${terminal.err()}`;
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

const commands: [line: string, args: string[]][] = [
  ["run", "alpha", "go"],
  ["run", "alpha", "go", "--quiet"],
  ["run", "alpha", "go", "--verbose"],
  ["session", "show", "s1"],
  ["session", "list"],
  ["session", "list", "--worktrees"],
  ["session", "events", "s1", "--verbose"],
  ["session", "diff", "s1"],
  ["session", "diff", "s1", "--stat"],
  ["session", "held"],
  ["session", "held", "s1"],
  ["agents"],
].map((args) => [args.join(" "), args]);

describe("text of an agent, with what a terminal would obey in every field", () => {
  test.each(commands)("is shown as text by bulkhead %s", async (_, args) => {
    const shown = await cli(...args);
    expect(shown).toContain("\\u{9b}");
    expect(obeyed.exec(shown.replaceAll(statusErased, ""))?.[0]).toBeUndefined();
  });

  test.each(commands)("is JSON of the same value, without a raw one, by bulkhead %s --json", async (_, args) => {
    const given = args.filter((one) => one !== "--quiet");
    const shown = await cli(...given, "--json");
    const lines = shown.split("\n").filter((line) => line.startsWith("{"));
    expect(lines.length).toBeGreaterThan(0);
    expect(shown).toContain("\\u009b");
    expect(obeyed.exec(shown)?.[0]).toBeUndefined();
    expect(lines.some((line) => JSON.stringify(JSON.parse(line)).includes("\u009b3m\u202e"))).toBe(true);
  });

  test("is shown as text in a table, a log and a comparison", async () => {
    const paint = createPaint(false);
    const compared = poisoned({
      adapter_id: "alpha",
      session_id: "s1",
      outcome: "error" as const,
      stop_reason: "fatal" as const,
      duration_ms: 1,
      cost: 1,
      currency: "EUR",
      tokens: 1,
      files_changed: 1,
      lines_added: 1,
      lines_removed: 1,
    });
    const overlapping_files = poisoned([{ path: "a", session_ids: ["s1", "s2"], same: true }]);
    const shown = [
      ...tableLines(agentRows([poisoned(fakeAgent("alpha"))]), { paint, columns: 200, head: agentHead }),
      logText(
        JSON.stringify(poisoned({ level: "warn", time: "t", message: "m", plugin_id: "p", session_id: "s" })),
        paint,
      ),
      logText(poison, paint),
      comparisonText(
        { passed_over: poisoned([{ adapter_id: "a", reason: "r" }]) } as never,
        { sessions: [compared], overlapping_files } as never,
        { paint, columns: 200 },
      ),
    ].join("\n");
    expect(obeyed.exec(shown)?.[0]).toBeUndefined();
  });

  test("has a currency of three capital letters, or is refused", () => {
    const usage = { type: "usage", scope: "turn", tokens_in: 1, tokens_out: 1, tokens_cached: null, cost: 1 };
    const fits = (currency: string) => Value.Check(adapterEventSchemas.usage, { ...usage, currency });
    expect(["EUR", "USD"].map(fits)).toEqual([true, true]);
    expect(["\u001b[3", "\u001bc1", "usd", "EU", "EURO", "€€€", "EUR\n", "E\u202eR"].map(fits)).toEqual(
      Array(8).fill(false),
    );
  });
});
