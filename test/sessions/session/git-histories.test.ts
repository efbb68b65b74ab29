import process from "node:process";
import { test } from "vitest";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { makeAgentGit } from "./agent-git.ts";
import { GitHistory } from "./git-history.ts";
import { checkCommands, checkHistory } from "./git-history-checks.ts";
import { repository } from "./git-history-steps.ts";

/** Histories of a run, and the seed of the first one. Without more, one has kills and one has none. */
const histories = Number(process.env["BULKHEAD_GIT_HISTORIES"] ?? 2);
const firstSeed = Number(process.env["BULKHEAD_GIT_SEED"] ?? 4);

for (let seed = firstSeed; seed < firstSeed + histories; seed++) {
  const kills = seed % 5 === 0;
  test(
    `no history of an agent, a person and a second session loses or undoes anything${
      kills ? ", with kills" : ""
    }: ${seed}`,
    { timeout: 120_000 },
    async (context) => {
      await needsWall(context, "bubblewrap");
      const repo = await makeAgentGit(repository);
      await repo.sh("touch ~/.gitconfig.own");
      const history = new GitHistory(repo, { seed, kills });
      await history.run();
      await checkHistory(repo, history);
      await checkCommands(repo, history);
    },
  );
}
