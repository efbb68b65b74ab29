import { describe, expect, test } from "vitest";
import { keepJournal } from "../../../core/sessions/host/state/keep-journal.ts";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import { defaultRetention } from "../../../core/records/journal/retention.ts";
import { parseHostManifest } from "../../../core/packages/manifest/find-host-manifest.ts";
import { ended, EnvelopeSource } from "../../records/journal/journal-fixture.ts";
import { adapterCode, completed, errorOf, openHost, until } from "./test-host.ts";

describe("keepJournal", () => {
  test("removes what is past its age again and again until it is stopped, and says how many", async () => {
    const journal = createMemoryJournal();
    const logs: string[] = [];
    let removals = 0;
    const stop = keepJournal(journal, {
      onRemoved: () => removals++,
      limits: () => ({ ...defaultRetention, keep_ms: 1000 }),
      writeLog: ({ message }) => logs.push(message),
      firstMs: 1,
      everyMs: 1,
    });
    const source = new EnvelopeSource();
    const add = async (id: string) => {
      await journal.append({ session_id: id, envelopes: [source.next(id), { ...source.next(id), event: ended }] });
    };
    const isGone = async (id: string) => (await journal.session(id))?.deleted !== null;
    for (const id of ["a", "b"]) {
      await add(id);
      await until(() => isGone(id));
    }
    await until(() => logs.length === 2);
    expect(removals).toBe(2);
    expect(logs).toEqual(Array(2).fill("Removed 1 session past their age or size."));
    await stop();
    await add("c");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await isGone("c")).toBe(false);
    await journal.close();
  });

  test("goes by the limits as they are now", async () => {
    const journal = createMemoryJournal();
    const source = new EnvelopeSource();
    await journal.append({ session_id: "a", envelopes: [source.next("a"), { ...source.next("a"), event: ended }] });
    const isGone = async () => (await journal.session("a"))?.deleted !== null;
    let limits = { ...defaultRetention, keep_ms: 1e15 };
    const stop = keepJournal(journal, {
      onRemoved: () => {},
      limits: () => limits,
      writeLog: () => {},
      firstMs: 1,
      everyMs: 1,
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await isGone()).toBe(false);
    limits = { ...defaultRetention, keep_ms: 1 };
    await until(isGone);
    await stop();
    await journal.close();
  });

  test("a host keeps what its manifest says; what is past it is a gap for whoever asks", async () => {
    const text = "bulkhead: 1\njournal:\n  keep_ms: 1\n";
    const manifest = await parseHostManifest(text, { file: "/tmp/bulkhead.yaml" });
    expect(manifest.journal).toEqual({ keep_ms: 1 });
    const before = await openHost();
    await before.add("says", { code: adapterCode(`    yield ${completed};`) });
    const { result, events } = await before.run("says");
    await before.host.close();
    const { host } = await openHost({ root: before.root, manifest });
    const get = () => host.sessions.get(result.session_id).then(() => null, (error: unknown) => error);
    await until(async () => await get() !== null);
    expect(await errorOf(host.sessions.get(result.session_id))).toMatchObject({
      code: "not_found",
      message: `Session "${result.session_id}" was removed by the journal's retention.`,
      details: { deleted_by: "retention" },
    });
    for await (const { event, gseq } of host.events({ after: 0 })) {
      expect([event, gseq]).toEqual([{ type: "gap", from_seq: 1, to_seq: events.length }, events.at(-1)?.gseq]);
      break;
    }
  });
});
