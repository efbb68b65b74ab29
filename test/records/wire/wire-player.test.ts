import { Buffer } from "node:buffer";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { WireDrift } from "../../../plugin-sdk/black-box.ts";
import { WireRecords } from "../../../core/records/wire/record-files.ts";
import { openRecord, WirePlayer } from "../../../core/records/wire/wire-player.ts";
import { WireRecorder } from "../../../core/records/wire/wire-recorder.ts";
import type { WireFollower } from "../../../core/walls/agent/wire.ts";
import { afterEveryTest } from "../../clean-up.ts";

const roots: string[] = [];
afterEveryTest(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true });
});

const post = { method: "POST", path: "/v1/messages", headers: [], base: "https://api.example.com" };
const head = { wire_record: 1, session_id: "one", conversation_id: "one", turn: 1, begun_at: "", places: {} } as const;

/** Records calls by what is done with each, and opens the record. */
async function recorded(...calls: ((call: WireFollower) => void)[]) {
  const root = await mkdtemp(join(tmpdir(), "bulkhead-play-"));
  roots.push(root);
  const bounds = { call_bytes: 1e6, record_bytes: 1e6, calls: 10 };
  const recorder = new WireRecorder(new WireRecords(join(root, "wire")), { head, bounds, redactor: null });
  for (const call of calls) call(recorder.begin(post) as WireFollower);
  await recorder.end({ turns: 1, tree: null });
  const drifts: WireDrift[] = [];
  const player = new WirePlayer(await openRecord(join(root, "wire", "one"), "one"), {
    places: {},
    mostSent: 1e6,
    redactor: null,
    onDrift: (drift) => void drifts.push(drift),
  });
  return { player, drifts, play: async (body: string) => await player.begin(post).answer(Buffer.from(body)) };
}

test("WirePlayer: a call that no model answered plays again as it was, and one that changed is drift", async () => {
  const unanswered = (body: string) => (call: WireFollower) => {
    call.unsent?.(Buffer.from(body));
    call.ended?.(false);
  };
  const { player, drifts, play } = await recorded(unanswered('{"a":1}'), unanswered('{"a":2}'));
  await expect(play('{"a":2}')).rejects.toMatchObject({ code: "network_error" });
  expect([player.counts, drifts]).toEqual([{ made: 1, served: 1, left: 0 }, []]);
  await expect(play('{"a":3}')).rejects.toMatchObject({ code: "conflict" });
  expect(drifts).toMatchObject([{ call: 2, recorded_call: 1, place: "a" }]);
  expect(player.counts).toEqual({ made: 2, served: 1, left: 0 });
});
