import { expect, test } from "vitest";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { done, says, type ScriptedAdapter, ScriptedSession } from "./scripted-session.ts";
import { checkSession } from "./session-rules.ts";

const schema = { type: "object", properties: { names: { type: "array" } }, required: ["names"] };
const completed = (more: object): AdapterEvent => ({ ...done, ...more }) as AdapterEvent;

async function run(adapter: Partial<ScriptedAdapter>, request: Partial<SessionRequest> = {}) {
  const scripted = new ScriptedSession([{ id: "alpha", scripts: [says()], ...adapter }], { request });
  const result = await scripted.ended();
  expect(checkSession(scripted.events)).toEqual([]);
  return { result, events: scripted.events.map(({ event }) => event) };
}

const gives = (more: object): Pick<ScriptedAdapter, "scripts"> => ({
  scripts: [(stage) => stage.say(completed(more))],
});

test("data and facts of an adapter stand in its event and in the result", async () => {
  const told = { structured_output: { names: ["Ada"] }, metadata: { took: 3, tool_version: "mine" } };
  const { result, events } = await run(gives(told));
  expect(result).toMatchObject({ outcome: "completed", structured_output: { names: ["Ada"] } });
  expect(result.metadata).toMatchObject({ took: 3, tool_version: null, permissions: { allowed: 0 } });
  expect(events.find(({ type }) => type === "completed")).toMatchObject(told);
  expect((await run({})).result).not.toHaveProperty("structured_output");
});

test.each([
  ["the request", {}, { output_schema: schema }],
  ["the manifest", { manifest: { output_schema: schema } }, {}],
  ["the request before the manifest", { manifest: { output_schema: { type: "number" } } }, { output_schema: schema }],
])("data that breaks the schema of %s is kept in a typed failure", async (_name, adapter, request) => {
  const wrong = await run({ ...adapter, ...gives({ structured_output: { name: "Ada" } }) }, request);
  expect(wrong.result).toMatchObject({
    outcome: "error",
    stop_reason: "output_invalid",
    error: { code: "output_invalid", details: { structured_output: { name: "Ada" } } },
    attempts: [{ error: { code: "output_invalid" } }],
  });
  expect(wrong.result).not.toHaveProperty("structured_output");
  const right = await run({ ...adapter, ...gives({ structured_output: { names: [] } }) }, request);
  expect(right.result).toMatchObject({ stop_reason: "end_turn", structured_output: { names: [] } });
});

test.each([
  ["whole", '{"names":["Ada"]}', true],
  ["in a fence", 'Here:\n```json\n{"names":["Ada"]}\n```\nDone.', true],
  ["in words", "Ada", false],
])("where a schema asks for data, an answer that is JSON %s is read", async (_name, output, isRead) => {
  const { result } = await run(gives({ output }), { output_schema: schema });
  expect(result).toMatchObject(
    isRead ? { structured_output: { names: ["Ada"] } } : { stop_reason: "output_invalid", output: "Ada" },
  );
  expect((await run(gives({ output }))).result).toMatchObject({ stop_reason: "end_turn" });
});

test("the effective settings say whether the adapter takes a schema or the prompt asks for it", async () => {
  const request = { output_schema: schema };
  const told = gives({ structured_output: { names: [] } });
  expect((await run(told, request)).result.effective.output_schema).toBe("asked");
  const taken = await run({ ...told, manifest: { accepts: ["output_schema"] } }, request);
  expect(taken.result.effective.output_schema).toBe("enforced");
  // Its agent could not be held to this one, and answered in words.
  const words = await run({ ...gives({ output: "{}" }), manifest: { accepts: ["output_schema"] } }, request);
  expect(words.result.effective.output_schema).toBe("asked");
});

test("data that is nested too deeply, and facts that are none, are refused", async () => {
  let deep: unknown = 1;
  for (let level = 0; level < 100; level++) deep = [deep];
  for (const more of [{ structured_output: deep }, { metadata: { deep } }, { metadata: [] }]) {
    expect((await run(gives(more))).result.stop_reason).toBe("fatal");
  }
});

test("a failed agent's data is held to nothing", async () => {
  const { result } = await run(gives({ success: false, structured_output: 1 }), { output_schema: schema });
  expect(result.stop_reason).toBe("fatal");
});
