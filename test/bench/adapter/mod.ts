import { type AdapterContext, type AdapterEvents, defineAdapter, type SessionRequest } from "bulkhead/plugin-sdk";

/** What a prompt may ask for: `single 200000`, `arrays 200000`, `paced 100 5`, `spin`, `wait` or `steady`. */
export default defineAdapter({
  id: "bench",
  name: "Bench",
  version: "1.0.0",
  capabilities: { testing: true },
  runSession,
});

const arrayLength = 64;

async function* runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents {
  const [kind, count = "0", pause = "5"] = request.prompt.split(" ");
  const events = Number(count);
  if (kind === "spin") {
    // The host is told the moment beforehand: from then on it hears nothing.
    const spinsAt = Date.now() + 100;
    yield { type: "progress", message: String(spinsAt) };
    await ctx.sleep(spinsAt - Date.now());
    for (;;);
  }
  if (kind === "wait") {
    yield { type: "progress", message: "waiting" };
    await ctx.sleep(1e9);
  }
  for (let n = 0; kind === "steady"; n++) {
    yield line(n);
    await ctx.sleep(20);
  }
  for (let n = 0; kind === "paced" && n < events; n++) {
    await ctx.sleep(Number(pause));
    // Tells when it was said, by the clock that the reader has too.
    yield { type: "output", stream: "stdout", data: `${Date.now()}\n` };
  }
  // The last of the events counted is `completed`.
  if (kind === "single") { for (let n = 1; n < events; n++) yield line(n); }
  for (let n = 1; kind === "arrays" && n < events; n += arrayLength) {
    yield Array.from({ length: Math.min(arrayLength, events - n) }, (_, index) => line(n + index));
  }
  yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
}

function line(n: number) {
  return { type: "output" as const, stream: "stdout" as const, data: `line ${n}\n` };
}
