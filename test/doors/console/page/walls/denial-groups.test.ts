import { expect, test } from "vitest";
import { groupDenials } from "../../../../../core/doors/console/page/walls/denial-groups.ts";

type Denial = Parameters<typeof groupDenials>[0][number];

const denial = (adapter_id: string, session_id: string, more: Partial<Denial> = {}): Denial => ({
  session_id,
  seq: 1,
  at: "2026-01-01T00:00:00.000Z",
  adapter_id,
  permission: "write",
  target: `/worktrees/${session_id}/package.json`,
  reason: "It is not granted.",
  grant_command: `bulkhead plugin grant ${adapter_id} 'write:workdir:package.json'`,
  now: "grantable",
  grants: [],
  ...more,
});

test("groupDenials counts the same file of several worktrees as one, with its agents and sessions", () => {
  const all = [denial("a", "s1"), denial("b", "s2"), denial("b", "s3"), denial("b", "s3", { at: "2025" })];
  const other = denial("a", "s1", { permission: "net", target: "a.example:443", grant_command: null });
  const groups = groupDenials([...all, other]);
  expect(groups).toMatchObject([
    {
      permission: "write",
      target: "workdir:package.json",
      times: 4,
      sessions: 3,
      agents: [{ id: "b", times: 3 }, { id: "a", times: 1 }],
      newest: { session_id: "s1" },
    },
    { permission: "net", target: "a.example:443", times: 1 },
  ]);
});
