import { expect, test } from "vitest";
import { agentRows } from "../../../../core/doors/cli/render/agent-rows.ts";
import { fakeAgent } from "../fake-host.ts";

test("a remedy that several agents share stands below the last of them alone", () => {
  const install = { availability: "unrunnable" as const, next_step: "Install bubblewrap." };
  const login = { availability: "unauthenticated" as const, next_step: "Log in." };
  const rows = agentRows([fakeAgent("a", install), fakeAgent("b", login), fakeAgent("c", install)]);
  expect(rows).toMatchObject([{ remedy: undefined }, { remedy: "Log in." }, { remedy: "Install bubblewrap." }]);
});
