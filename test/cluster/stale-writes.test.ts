import { expect, test } from "vitest";
import { batchEntry, heldEntries } from "../../core/cluster/log/held-entries.ts";
import { MachineLog } from "../../core/cluster/log/machine-log.ts";
import { envelopesOf, logMachine } from "./log-fixture.ts";
import { until } from "./machine.ts";
import { startServers } from "./nats-servers.ts";
import { StaleWrites, textOf } from "./stale-writes.ts";

test("StaleWrites counts what a replaced writer sends, what the servers take of it, and what readers show", async () => {
  const on = await startServers();
  const [one, two] = [await logMachine("one", on), await logMachine("two", on)];
  const writes = await StaleWrites.open(on.urls, two);
  try {
    const { journal } = await one.take();
    await journal.append({ session_id: "s", envelopes: envelopesOf("s", { gseq: 1 }) });
    const mirror = await two.mirror("one");
    await until("the copy has it", () => mirror.journal.lastGseq === 1);
    const { position, journal: copy, resume } = await mirror.pause();
    const held = (after: number) => heldEntries(copy, after);
    const taken = await MachineLog.begin(
      { engine: two.engine, machine: "one", by: "two", held, writeLog: () => {} },
      position,
    );
    taken.close();
    await resume();

    // With the condition it is refused; without it, as if there were no fence, the servers take it.
    const late = envelopesOf("s", { gseq: 2, seq: 2, data: "late" });
    await expect(journal.append({ session_id: "s", envelopes: late })).rejects.toMatchObject({ code: "machine_lost" });
    const { headers, subject } = (await two.engine.message(two.engine.names.log("one"), 2))!;
    const { "Nats-Expected-Last-Sequence": _, ...own } = headers;
    const unfenced = { subject, headers: { ...own, "Bulkhead-Events": "2-2" }, data: batchEntry("s", late)!.body };
    await two.engine.append(unfenced);
    await until("the copy has read it", () => mirror.dropped === 1);

    const shown = async () => (await copy.read({ after: 0 })).map(textOf);
    await writes.look(shown);
    expect(writes).toMatchObject({ tried: 2, stored: 1, accepted: [] });

    await two.engine.append(unfenced);
    await writes.look(async () => [...await shown(), ...late.map(textOf)]);
    expect(writes).toMatchObject({ tried: 3, stored: 2, accepted: ["one: event 2 of s"] });
  } finally {
    await writes.close();
    await two.close();
    await one.close();
    await on.stop();
  }
});
