import { rm } from "node:fs/promises";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { type WatchedNetwork, watchNetworks } from "../../watched-networks.ts";
import { type MockModel, startMockModel } from "../mock-model/mock-model.ts";
import type { Agent } from "./agent.ts";
import { agents as allAgents } from "./agents.ts";
import { byKey } from "./by-key.ts";
import { type CaseName, cases } from "./cases.ts";
import { type Home, openHome, openPlace, type Place, processesOf } from "./place.ts";
import { killQuietly, openHost, patienceMs, prompt, requestOf } from "./run-case.ts";

/** Agents that can be told the address of their model. */
const ids = ["claude-code", "codex", "gemini-cli", "opencode"];
const named = process.env["AGENTS"]?.split(",") ?? ids;
const agents = allAgents.filter(({ id }) => ids.includes(id) && named.includes(id));
// One of each at least: a suite without a test is red.
const wanted = process.env["CASES"]?.split(",") ?? ["write", "command", "server_error"];
const played: CaseName[] = [
  "text",
  ...(["write", "command", "server_error"] as const).filter((one) => wanted.includes(one)),
];

let home: Home;
let models: MockModel;
beforeAll(async () => {
  home = await openHome({ more: false });
  models = await startMockModel();
  for (const agent of agents) await agent.settle(home.path);
}, 60_000);
afterAll(async () => {
  await models.close();
  await home.remove();
}, 60_000);

describe.each(agents)("$id", (agent) => {
  test.for(played)("%s plays again, offline", { timeout: 2 * patienceMs }, async (name) => {
    const { recorded, asked, replayed, network } = await playAgain(agent, name);
    expect.soft(recorded.recorded).toEqual({ calls: asked, bytes: expect.any(Number) });
    expect.soft(replayed.replay?.drift?.difference).toBeUndefined();
    expect.soft(replayed.replay).toMatchObject({ recorded: asked, made: asked, served: asked, left: 0, tree: "same" });
    expect.soft(replayed.output).toBe(recorded.output);
    expect.soft(replayed.stop_reason).toBe(recorded.stop_reason);
    expect.soft(paths(replayed)).toEqual(paths(recorded));
    expect.soft(network.asked, "requests to the model").toBe(0);
    expect.soft(network.watched.length, "networks of its own").toBeGreaterThan(0);
    for (const { isOurs, interfaces: { lo, ...others } } of network.watched) {
      expect.soft([isOurs, others], "packets that could go out").toEqual([false, {}]);
      expect.soft(lo!.sent, "packets that came back to it").toBe(lo!.received);
    }
    console.info(`${agent.id}, ${name}: packets ${JSON.stringify(network.watched.map((one) => one.interfaces))}`);
    expect.soft(network.reached, "hosts that it reached").toEqual([]);
  });
});

function paths({ artifacts }: SessionResult): (string | null)[][] | undefined {
  return artifacts?.map(({ path, sha256 }) => [path, sha256]);
}

interface Played {
  recorded: SessionResult;
  /** Requests to the model while it was recorded. */
  asked: number;
  replayed: SessionResult;
  network: { asked: number; watched: WatchedNetwork[]; reached: string[] };
}

async function playAgain(agent: Agent, name: CaseName): Promise<Played> {
  const place = await openPlace();
  const model = models.open(cases[name].scenario, { workdir: place.workdir, offersTools: agent.tools });
  const prepared = await byKey(agent).prepare({ name, model, place });
  const { host, plugin } = await openHost(prepared, { place, model });
  try {
    const { manifest: { endpoints = [], reports } } = plugin;
    const same: SessionRequest = {
      workdir: place.workdir,
      prompt,
      retry: "never",
      timeout_ms: patienceMs,
      answer_timeout_ms: 0,
      ...prepared.request,
      ...requestOf(cases[name], reports),
    };
    const run = async (request: SessionRequest) =>
      await (await host.runSession(request, { adapter: plugin.id })).result();
    // Some list the folder, in which a worktree has a file of git's, and nothing that git ignores.
    const workspace = agent.id === "claude-code" ? "inplace" : "worktree";
    const recorded = await run({ ...same, workspace, record: "wire" });
    const asked = model.requests.length;
    const unnamed = new Set(endpoints.flatMap(({ key, base_url }) => [key, base_url]));
    const env = Object.fromEntries(Object.entries(same.env ?? {}).filter(([variable]) => !unnamed.has(variable)));
    const ended = new AbortController();
    const watching = watchNetworks(() => programsOf(place), ended.signal);
    const replayed = await run({ ...same, env, replay_of: recorded.session_id }).finally(() => ended.abort());
    const { hosts = {} } = replayed.metadata.permissions;
    const reached = Object.keys(hosts).filter((one) => hosts[one]!.allowed > 0);
    const network = { asked: model.requests.length - asked, watched: await watching, reached };
    return { recorded, asked, replayed, network };
  } finally {
    await host.close();
    for (const { pid } of await processesOf(place)) killQuietly(pid);
    await rm(place.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** Programs of a place: walls are made, and git is asked, outside. */
async function programsOf(place: Place): Promise<number[]> {
  const isWall = /^\S*(?:bwrap|nsenter|prlimit|git|sh|bash)\b|launcher/;
  return (await processesOf(place)).filter(({ command }) => !isWall.test(command)).map(({ pid }) => pid);
}
