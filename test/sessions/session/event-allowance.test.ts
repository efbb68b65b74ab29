import { expect, test } from "vitest";
import { EventAllowance } from "../../../core/sessions/session/event-rules.ts";

test("what is beyond the limits is cut off, over all batches together", () => {
  const allowance = new EventAllowance();
  const limits = { events: 5, event_bytes_total: 100 };
  expect(allowance.take({ events: 3, bytes: 10 }, limits)).toEqual({ kept: 3, problem: null });
  expect(allowance.take({ events: 3, bytes: 10 }, limits)).toEqual({
    kept: 2,
    problem: "The session had more than 5 events.",
  });
  expect(allowance.take({ events: 1, bytes: 10 }, limits).kept).toBe(0);
  expect(allowance.take({ events: 1, bytes: 71 }, limits)).toEqual({
    kept: 0,
    problem: "The session's events had more than 100 bytes.",
  });
});
