import { benchHost } from "./bench-host.ts";
import { type Figure, quantile, timed } from "./measure.ts";

/** Events written to the journal with nobody reading, and read back from it by a late reader. */
export async function journal({ quick }: { quick: boolean }): Promise<Figure[]> {
  const count = quick ? 50_000 : 200_000;
  await using bench = await benchHost("thread");
  const written: number[] = [];
  const read: number[] = [];
  let after = 0;
  for (let round = -1; round < 3; round++) {
    const write = await timed(async () => await (await bench.start(`arrays ${count}`)).result);
    const replay = await timed(async () => {
      for await (const { gseq, event } of bench.host.events({ after })) {
        after = gseq;
        if (event.type === "session_ended") break;
      }
    });
    if (round < 0) continue;
    written.push(count / (write / 1000));
    read.push(count / (replay / 1000));
  }
  return [
    { name: "journal.written", value: quantile(written, 0.5), unit: "per_second" },
    { name: "journal.read", value: quantile(read, 0.5), unit: "per_second" },
  ];
}
