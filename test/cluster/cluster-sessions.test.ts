import { expect, test } from "vitest";
import type { Mirror } from "../../core/cluster/log/mirror.ts";
import { ClusterSessions } from "../../core/cluster/machines/cluster-sessions.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { EnvelopeSource } from "../records/journal/journal-fixture.ts";
import { createMemoryJournal } from "../records/journal/memory-journal.ts";

test("an ended session of another machine has its changed lines, from the copy here, where facts are asked for", async () => {
  const journal = createMemoryJournal();
  const envelopes = new EnvelopeSource().batch("s", 2);
  const lines = { added: 12, removed: 2 };
  const result = { outcome: "completed", stop_reason: "end_turn", usage: {}, artifacts: [{ path: "a", lines }] };
  envelopes[0]!.event = { type: "session_started", requested: { prompt: "go" }, labels: {} } as Envelope["event"];
  envelopes[1]!.event = { type: "session_ended", result } as Envelope["event"];
  await journal.append({ session_id: "s", envelopes });
  const mirrors = () => [{ machine: "two", journal } as Mirror];
  const sessions = new ClusterSessions({ mirrors } as unknown as ConstructorParameters<typeof ClusterSessions>[0]);
  expect(await sessions.list({ limit: 10 }, { facts: true })).toMatchObject([{ record: { state: "ended" }, lines }]);
  expect((await sessions.list({ limit: 10 }))[0]?.lines).toBeUndefined();
});
