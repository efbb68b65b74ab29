import { expect, test } from "vitest";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import { endInterrupted, readInterrupted } from "../../../core/sessions/session/interrupted-session.ts";
import { MergedLog } from "../../../core/sessions/session/merged-log.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { breaksWith, hangs, type ScriptedAdapter, ScriptedSession } from "./scripted-session.ts";
import { hostVersion } from "../../../core/ground/config/version.ts";

const api = { type: "api", priority: 1, enabled: true, model: "m", max_tokens: 1 } as const;
const pricing = { input_per_1k_tokens: 0, output_per_1k_tokens: 0, currency: "USD" };

/** The last event that is added to what the first events of a session are. */
async function endOf(events: readonly Envelope[]) {
  const journal = createMemoryJournal();
  await journal.append({ session_id: "s", envelopes: [...events], texts: [] });
  async function* pages() {
    yield events;
  }
  const log = new MergedLog(journal);
  await endInterrupted(await readInterrupted(pages(), events.length), {
    log,
    former: { runtime: "node 20", hostVersion, end: "host_restarted" },
  });
  const last = (await journal.read({ after: 0, limit: 1000 })).at(-1)!.event;
  if (last.type !== "session_ended") throw new Error("It has no end.");
  return last.result;
}

test("endInterrupted says by what the last attempt was held, and not by what the first one was", async () => {
  const alpha: ScriptedAdapter = { id: "alpha", scripts: [breaksWith("unavailable")] };
  const beta: ScriptedAdapter = { id: "beta", scripts: [hangs], accessMode: { ...api, pricing } };
  const scripted = new ScriptedSession([alpha, beta]);
  while (scripted.types.filter((type) => type === "attempt_started").length < 2) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const cut = scripted.events.map((envelope): Envelope =>
    envelope.event.type === "session_started"
      ? {
        ...envelope,
        event: { ...envelope.event, effective: { ...envelope.event.effective, permissions: { kv: true } } },
      }
      : envelope
  );
  scripted.session.stop("interrupted", "The test is over.");
  await scripted.ended();
  const result = await endOf(cut);
  expect(result).toMatchObject({
    stop_reason: "host_restarted",
    effective: { permissions: {}, access_mode: "api" },
    provenance: { adapter_id: "beta", grants: {} },
  });
  expect(result.effective.permissions).toEqual({});
  const first = await endOf(cut.slice(0, 2));
  expect(first.provenance).toMatchObject({ adapter_id: "alpha", grants: { kv: true } });
});
