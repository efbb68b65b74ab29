import { type AdapterContext, type AdapterEvents, defineAdapter, type SessionRequest } from "bulkhead/plugin-sdk";

const rows = 2000;

/** Takes all memory it can get: what a host must survive. */
export default defineAdapter({
  id: "memory-hog",
  name: "Memory hog",
  version: "1.0.0",
  runSession: hog,
});

async function* hog(_request: SessionRequest, ctx: AdapterContext): AdapterEvents {
  yield { type: "progress", message: "behaving for a moment" };
  await ctx.sleep(300);
  yield { type: "output", stream: "stdout", data: "Now I take all the memory there is.\n" };
  const hoard: object[][] = [];
  for (let blocks = 1;; blocks += 1) {
    // Objects with distinct contents, so that no engine can share or compress them.
    hoard.push(Array.from({ length: rows }, (_, row) => ({ blocks, row, text: `block ${blocks} row ${row}` })));
    if (blocks % 50 !== 0) continue;
    yield { type: "progress", message: `${(blocks * rows) / 1000},000 objects held` };
    await ctx.sleep(1);
  }
}
