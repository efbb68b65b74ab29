import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type MockModel, startMockModel } from "../mock-model/mock-model.ts";
import type { Agent } from "./agent.ts";
import { agents as allAgents } from "./agents.ts";
import { type Home, openHome } from "./place.ts";
import { type Talk, type TalkOptions, talkWith } from "./talk.ts";

/** What the suites of talks stand on. */
export interface Ground {
  /** Those of the suite's agents that this run is for. */
  agents: readonly Agent[];
  /** Runs a talk with an agent, in the home that the suite has; returns the processes that it left behind. */
  talk(agent: Agent, options: TalkOptions, act: (talk: Talk) => Promise<void>): Promise<string[]>;
}

/**
 * Gives a suite its agents and, while it runs, a home and a model. `AGENTS=acp-claude,acp-codex` names the agents of a run,
 * `AGENTS=all` means all that the suite has; without it they are those of the first lot.
 */
export function openGround(ids: readonly string[]): Ground {
  const named = process.env["AGENTS"]?.split(",");
  const agents = allAgents.filter(({ id, more }) =>
    ids.includes(id) && (named?.includes("all") || (named?.includes(id) ?? !more))
  );
  let home: Home;
  let models: MockModel;

  beforeAll(async () => {
    home = await openHome({ more: agents.some(({ more }) => more) });
    models = await startMockModel();
    for (const agent of agents) await agent.settle(home.path);
  }, 60_000);

  afterAll(async () => {
    await models.close();
    await home.remove();
  }, 60_000);

  test("the agents of this suite are among those of the proving ground", () => {
    expect(allAgents.map(({ id }) => id)).toEqual(expect.arrayContaining([...ids]));
  });

  return { agents, talk: (agent, options, act) => talkWith(agent, { models, ...options }, act) };
}
