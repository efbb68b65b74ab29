import { expect, test } from "vitest";
import { agentRows } from "../../../../core/doors/cli/render/agent-rows.ts";
import { localTime } from "../../../../core/doors/cli/render/quantities.ts";
import type { AccessModeStatus } from "../../../../plugin-sdk/access-modes.ts";
import { fakeAgent } from "../fake-host.ts";

test("the end of a limit is told in the time of the place, and so is what the provider leaves", () => {
  const until = "2026-01-31T12:00:00.000Z";
  const here = localTime(until);
  const [row] = agentRows([
    fakeAgent("a", {
      availability: "rate_limited",
      reason: `Its api access is limited until ${until}.`,
      next_step: `Wait until ${until}, or use another adapter.`,
      access_mode: {
        type: "api",
        priority: 1,
        status: "rate_limited",
        reset_at: until,
        quota: [{ name: "requests", limit: 50, remaining: 0, reset_at: until }],
      } as unknown as AccessModeStatus,
    }),
  ]);
  expect(JSON.stringify(row)).not.toContain("T12:00");
  expect(row).toMatchObject({ remedy: `Wait until ${here}, or use another adapter.` });
  const why = `Its api access is limited until ${here}. Requests: 0 of 50 left until ${here}.`;
  expect(row).toMatchObject({ cells: { 4: { text: why } } });
});

test("a remedy that several agents share stands below the last of them alone", () => {
  const install = { availability: "unrunnable" as const, next_step: "Install bubblewrap." };
  const login = { availability: "unauthenticated" as const, next_step: "Log in." };
  const rows = agentRows([fakeAgent("a", install), fakeAgent("b", login), fakeAgent("c", install)]);
  expect(rows).toMatchObject([{ remedy: undefined }, { remedy: "Log in." }, { remedy: "Install bubblewrap." }]);
});
