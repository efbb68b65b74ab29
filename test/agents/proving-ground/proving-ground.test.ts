import { createHash } from "node:crypto";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { accepts, reports } from "../../../core/sessions/session/enforceable.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { outcomeOf } from "../../../plugin-sdk/result.ts";
import { type MockModel, startMockModel } from "../mock-model/mock-model.ts";
import { interimAnswer, longText, thought, written } from "../mock-model/scenarios.ts";
import type { Agent } from "./agent.ts";
import { agents as allAgents } from "./agents.ts";
import { type CaseName, caseNames, cases } from "./cases.ts";
import { differences } from "./differences.ts";
import { type Home, leftBehind, openHome } from "./place.ts";
import { claudeCode, importMarker, outsideMarker, projectMarker } from "./own-adapters.ts";
import { probe } from "./probe.ts";
import { type AgentRuns, type CaseRun, readReport, reportFile } from "./report.ts";
import { firstPrompt, patienceMs, prompt, type Ran, runCase } from "./run-case.ts";
import { expectedStory, kindsOf, printed } from "./story.ts";

/**
 * `AGENTS=codex,acp-kimi` runs these, `AGENTS=all` the second lot as well; without it the first lot runs. `CASES=text`
 * runs a part of each.
 */
const wanted = (name: string) => process.env[name]?.split(",").filter((one) => one !== "");
const named = wanted("AGENTS");
const agents = allAgents.filter(({ id, more }) => named?.includes("all") || (named?.includes(id) ?? !more));
const manifests = new Map<string, Manifest>();
for (const { id, folder } of allAgents) manifests.set(id, await readManifest(folder));

const runs: Record<string, AgentRuns> = {};
let home: Home;
let models: MockModel;

beforeAll(async () => {
  home = await openHome({ more: agents.some(({ more }) => more) });
  models = await startMockModel();
  for (const agent of agents) await agent.settle(home.path);
}, 60_000);

afterAll(async () => {
  await models.close();
  const left = await leftBehind({ root: home.path });
  await home.remove();
  expect(left).toEqual([]);
}, 60_000);

describe.each(agents)("$id", (agent) => {
  test("is found, and where nobody is logged in that is said", { timeout: 120_000 }, async () => {
    const { availability, version = null } = await probe(agent, models, true);
    const { availability: logged_out } = await probe(agent, models, false);
    runs[agent.id] = { detected: { availability, version }, logged_out, cases: {} };
    expect(availability).toBe("available");
  });

  test.concurrent.for(casesOf(agent).filter((name) => wanted("CASES")?.includes(name) ?? true))("%s", {
    timeout: (agent.patienceMs ?? patienceMs) + 30_000,
  }, async (name, { expect }) => {
    const ran = await runCase(agent, name, models);
    runs[agent.id]!.cases[name] = summary(ran, name);
    const { result, story, events } = ran;
    expect.soft(story, said(ran)).toEqual(expectedStory(agent.id, name));
    expect.soft(result.outcome).toBe(outcomeOf(result.stop_reason));
    expect.soft(ran.faults).toEqual([]);
    expect.soft(ran.left, "processes left behind").toEqual([]);
    expect.soft(events.filter(({ type }) => type === "unparsed")).toEqual(
      unparsedOf(agent, name) ? [expect.anything()] : [],
    );
    checkKey({ ...ran, tools: agent.tools }, expect);
    checkFiles(name, ran, expect);
    await checkText(agent, name, ran, expect);
    if (agent === claudeCode && name === "text") {
      const told = (marker: string) => ran.requests.some((body) => body.includes(marker));
      expect.soft([projectMarker, importMarker, outsideMarker].map(told)).toEqual([true, true, false]);
    }
    if (name === "resume") {
      expect.soft(ran.requests.some((body) => goesOn(body)), "the earlier prompt is known").toBe(true);
    }
  });
});

describe("all of them", () => {
  test("every difference is of an agent and case that there are, and is one", () => {
    for (const { agent, cases: names, story, because } of differences) {
      expect.soft(because, agent).toMatch(/\w.*\.$/);
      for (const name of names) {
        const { stop_reason, kinds } = cases[name].expected;
        expect.soft({ stop_reason, kinds, ...story }, `${agent} ${name}`).not.toEqual(cases[name].expected);
        const known = allAgents.find(({ id }) => id === agent);
        expect.soft(known && casesOf(known), `${agent} ${name}`).toContain(name);
      }
    }
  });

  test("the report that is kept is that of these runs", async () => {
    const kept = await readReport().catch(() => ({}));
    const order = allAgents.map(({ id }) => id);
    const merged = Object.fromEntries(order.flatMap((id) => {
      const before: AgentRuns | undefined = Reflect.get(kept, id);
      const cases = wanted("CASES") ? before?.cases : {};
      const of = runs[id] ? { ...runs[id], cases: { ...cases, ...runs[id].cases } } : before;
      return of ? [[id, inOrder(of)]] : [];
    }));
    await expect(`${JSON.stringify(merged, null, 2)}\n`).toMatchFileSnapshot(reportFile.pathname);
  });
});

/** Whether a request has what both sessions were asked. */
function goesOn(body: string): boolean {
  return body.includes(firstPrompt) && body.includes(prompt);
}

/** Cases that an agent can be put through: what its manifest does not offer is refused, as other tests show. */
function casesOf({ id, tools, helpers, without, more }: Agent): CaseName[] {
  const manifest = manifests.get(id)!;
  return caseNames.filter((name) => {
    if (name in without) return false;
    // Of those that are run by command alone each tells a denied command in its own way.
    if (name === "denied_command" && more) return false;
    if (name === "resume") return accepts(manifest, "continue_from");
    if (name === "helper") return helpers === true;
    if (name.startsWith("denied")) return tools && reports(manifest, "permissions");
    return tools || !("tools" in cases[name]);
  });
}

/** For whoever looks at a failed test. */
function said({ result, events }: Ran): string {
  return `${result.error?.message ?? "no error"} ${JSON.stringify(events).slice(0, 2000)}`;
}

function summary({ result, story, events }: Ran, name: CaseName): CaseRun {
  const { usage } = result;
  const pieces = events.filter((event) => event.type === "output" && event.stream === "stdout").length;
  // That one is stopped as soon as its program runs, at whatever piece and with the call to its model counted or not.
  const stopped = name === "command_endless";
  return {
    ...story,
    pieces: pieces === 0 ? "none" : pieces === 1 || stopped ? "one" : "many",
    artifacts: (result.artifacts ?? []).map(({ path, change }) => `${change} ${path}`),
    tokens: !stopped && usage.tokens_in !== null,
    cost: stopped || usage.cost === null ? null : usage.basis,
    wait: events.some((event) => event.type === "rate_limit" && event.wait_ms !== null),
  };
}

/** A key for which the host has an endpoint is in no process of the session; any other one is, which proves the look. */
function checkKey({ keyHolders, keyStaysOutside, tools }: Ran & { tools: boolean }, { soft }: typeof expect): void {
  if (keyHolders === null || !tools) return;
  if (keyStaysOutside) soft(keyHolders, "processes that hold the key").toEqual([]);
  else soft(keyHolders.length, "processes that hold the key").toBeGreaterThan(0);
}

function checkFiles(name: CaseName, { result, file }: Ran, { soft }: typeof expect): void {
  const writes = name === "write" || name === "command";
  const sha256 = createHash("sha256").update(file ?? "").digest("hex");
  soft(file?.trimEnd() ?? null).toBe(writes ? written.content : null);
  soft(result.artifacts).toEqual(writes ? [expect.objectContaining({ path: written.name, sha256 })] : []);
  soft(result.claimed_only).toEqual([]);
}

/** No text twice, and none lost: what came is what the model said. */
async function checkText({ id }: Agent, name: CaseName, { events }: Ran, { soft }: typeof expect): Promise<void> {
  const said = printed(events).trimEnd();
  const calls = cases[name].scenario === "write" || cases[name].scenario.startsWith("command");
  if (name === "endless") return soft(said).toMatch(/^(tick 0 (tick \d+ ?)*)?$/);
  if (name === "thinking" && kindsOf(events).includes("thinking")) {
    const thoughts = events.map((event) => (event.type === "thinking" ? event.content : ""));
    soft(thoughts.join("").replaceAll("*", "").replace(/\s+/g, " ").trim()).toBe(thought);
  }
  if (expectedStory(id, name).stop_reason !== "end_turn") return;
  if (name === "long") return soft(said === (await collect(longText())).trimEnd()).toBe(true);
  const { kinds } = expectedStory(id, name);
  if (name === "helper") return soft(said.replaceAll("\n", "")).toBe(`I will do it.${interimAnswer}It is done.`);
  const asked = calls && kinds.includes("tool_call") ? "I will do it." : "";
  const answered = kinds.endsWith("output completed") ? "It is done." : "";
  soft(said.replaceAll("\n", "")).toBe(asked + answered);
}

async function collect(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

/** An endpoint's garbled stream is shown as it came, and a result that does not count as one. */
function unparsedOf({ id, tools }: Agent, name: CaseName): boolean {
  return name === "malformed" && !tools || expectedStory(id, name).kinds.includes("unparsed");
}

function inOrder(of: AgentRuns): AgentRuns {
  return {
    ...of,
    cases: Object.fromEntries(caseNames.flatMap((name) => of.cases[name] ? [[name, of.cases[name]]] : [])),
  };
}
