import { expect, test } from "vitest";
import type { Engine } from "../../core/cluster/engine/engine.ts";
import type { Mirror } from "../../core/cluster/log/mirror.ts";
import { clusterWorkspaces } from "../../core/cluster/machines/cluster-workspaces.ts";
import type { SharedDiffs } from "../../core/cluster/machines/shared-diffs.ts";
import type { ApplyChoice, OwnWorkspaces } from "../../core/sessions/host/state/workspaces.ts";

test("a second apply of a lost machine's session takes what the client chose, as the first does", async () => {
  const chosen: [how: string, allowLinks: boolean | undefined][] = [];
  let known: { session_id: string }[] = [];
  const own = {
    list: () => Promise.resolve(known),
    apply: (_: string, { allowLinks }: ApplyChoice) => Promise.resolve(chosen.push(["apply", allowLinks])),
    applyPatch: (_: string, { allowLinks }: ApplyChoice) => {
      known = [{ session_id: "s" }];
      return Promise.resolve(chosen.push(["patch", allowLinks]));
    },
  } as unknown as OwnWorkspaces;
  const mirror = { machine: "lost", journal: { session: () => Promise.resolve({ session_id: "s" }) } };
  const diffs = {
    worktrees: () => Promise.resolve([{ session_id: "s", workdir: "/w" }]),
    read: () => Promise.resolve({ patch: new Uint8Array() }),
    forget: () => Promise.resolve(),
  };
  const { apply } = clusterWorkspaces(own, {
    engine: {} as Engine,
    presence: { present: () => null, others: () => [] },
    mirrors: () => [mirror as unknown as Mirror],
    diffs: diffs as unknown as SharedDiffs,
  });
  await apply("s", { allowLinks: true });
  await apply("s", { allowLinks: true });
  expect(chosen).toEqual([["patch", true], ["apply", true]]);
});
