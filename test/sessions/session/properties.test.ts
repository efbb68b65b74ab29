import { readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { outcomeOf } from "../../../plugin-sdk/result.ts";
import { childrenLeft, closeHosts, openHost, type TestHost } from "../host/test-host.ts";
import { type Plan, plans, scriptedEntry, scriptedManifest } from "./scripted-adapter.ts";
import { bySession, checkSession } from "./session-rules.ts";

const limits = {
  teardown_timeout_ms: 150,
  agent_grace_ms: 500,
  heartbeat_interval_ms: 200,
  sessions_per_worker: 4,
  workers: 2,
  quarantine_crashes: 100_000,
};
const grant = { run: [{ binary: "/bin/sleep" }] };
const rounds = 2;

test.each(["process", "thread"] as const)(
  "every session keeps the rules of its stream, whatever the adapter does, over a restart of the host too (%s)",
  async (isolation) => {
    const first = await openHost();
    const { root } = first;
    const merged: Envelope[] = [];
    for (let round = 0; round < rounds; round++) {
      const host = round === 0 ? first : await openHost({ root });
      await host.add("scripted", { code: scriptedEntry, manifest: scriptedManifest }, {
        isolation,
        trusted: true,
        limits,
        grant,
      });
      merged.push(...await oneRound(host, { cursor: merged.at(-1)?.gseq ?? 0 }));
      await host.host.close();
    }
    expect(rises(merged)).toBe(true);
    for (const events of bySession(merged).values()) expect(checkSession(events)).toEqual([]);

    const later = await openHost({ root });
    await expectReplay(later, merged);
    await later.host.close();
    expect(await readdir(join(root, "state", "host-1", "scratch")).catch(() => [])).toEqual([]);
    expect(await childrenLeft()).toEqual([]);
    await closeHosts();
  },
  240_000,
);

/** Many sessions at once, several times; gives all that a reader of the merged stream saw. */
async function oneRound(test: TestHost, { cursor }: { cursor: number }): Promise<Envelope[]> {
  const seen: Envelope[] = [];
  let last = cursor;
  const stop = new AbortController();
  const watching = (async () => {
    for await (const envelope of test.host.events({ after: cursor, signal: stop.signal })) seen.push(envelope);
  })();
  await fc.assert(
    fc.asyncProperty(fc.array(plans, { minLength: 6, maxLength: 16 }), async (batch) => {
      const own = await Promise.all(batch.map((plan) => runPlan(test, plan)));
      for (const events of own) expect(checkSession(events)).toEqual([]);
      last = Math.max(last, ...own.map((events) => events.at(-1)!.gseq));
    }),
    { numRuns: 6, endOnFailure: true },
  );
  while ((seen.at(-1)?.gseq ?? 0) < last) await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort();
  await watching;
  return seen;
}

/** One session with its client; what its own reader saw. */
async function runPlan({ host, workdir }: TestHost, plan: Plan): Promise<Envelope[]> {
  const { steps, timeout_ms, approval, interrupt_after_ms, answers } = plan;
  const session = await host.runSession(
    { workdir, prompt: "go", timeout_ms, approval, params: { script: JSON.stringify(steps) } },
    { adapter: "scripted", artifacts: "none" },
  );
  const timer = interrupt_after_ms === null
    ? undefined
    : setTimeout(() => void session.interrupt(), interrupt_after_ms);
  const events: Envelope[] = [];
  for await (const envelope of session.events()) {
    events.push(envelope);
    const { event } = envelope;
    const asks = event.type === "permission_request" || event.type === "question";
    if (answers && asks) await session.answer(event.request_id, "yes");
  }
  clearTimeout(timer);
  const result = await session.result();
  expect(result.outcome).toBe(outcomeOf(result.stop_reason));
  expect(events.at(-1)?.event).toEqual({ type: "session_ended", result });
  if (result.outcome === "error") expect(result.error?.code).toBeTypeOf("string");
  // What is over stays over.
  expect(await session.answer("a", "yes")).toBe(false);
  expect(await session.interrupt()).toBe(result);
  return events;
}

/** Reading again, from the start and from cursors in between, gives what was seen live. */
async function expectReplay({ host }: TestHost, merged: readonly Envelope[]): Promise<void> {
  const cursors = [0, ...[0.1, 0.5, 0.9].map((share) => merged[Math.floor(merged.length * share)]!.gseq)];
  for (const after of cursors) {
    const wanted = merged.filter(({ gseq }) => gseq > after);
    const stop = new AbortController();
    const again: Envelope[] = [];
    for await (const envelope of host.events({ after, signal: stop.signal })) {
      if (again.push(envelope) === wanted.length) break;
    }
    stop.abort();
    expect(again.length).toBe(wanted.length);
    // Compared one by one: a difference in so long a list would take minutes to print.
    const different = again.findIndex((envelope, index) => JSON.stringify(envelope) !== JSON.stringify(wanted[index]));
    if (different >= 0) expect(again[different]).toEqual(wanted[different]);
  }
}

function rises(merged: readonly Envelope[]): boolean {
  return merged.every(({ gseq }, index) => index === 0 || gseq > merged[index - 1]!.gseq);
}
