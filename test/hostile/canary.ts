import type { Seen } from "../sessions/session/session-rules.ts";

/** Milliseconds between two events of the canary: 20 a second. */
const paceMs = 50;

/** Text of an entry whose adapter counts aloud until it is interrupted. */
export const canaryEntry = `import { defineAdapter } from "bulkhead/plugin-sdk";
export default defineAdapter({
  id: "canary", name: "Canary", version: "1.0.0",
  async *runSession(request, ctx) {
    for (let count = 1; !ctx.signal.aborted; count++) {
      yield { type: "progress", message: String(count) };
      await ctx.sleep(${paceMs}).catch(() => {});
    }
  },
});
`;

/** What the canary counted, in the order it arrived. */
export function canaryCounts(events: readonly Seen[]): number[] {
  return events.flatMap(({ event }) => (event.type === "progress" ? [Number(event.message)] : []));
}
