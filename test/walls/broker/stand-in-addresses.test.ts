import { expect, test } from "vitest";
import { StandInAddresses } from "../../../core/walls/broker/stand-in-addresses.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";

const name = "0123456789abcdef0123456789abcdef";
const gateway = new URL("https://gateway.example/base/");

function addresses(...urls: URL[]): StandInAddresses {
  const made = new StandInAddresses();
  urls.forEach((url, at) => made.add(at === 0 ? name : `${at}${name.slice(1)}`, { port: 3128, url }));
  return made;
}

const error = (message: string): AdapterEvent => ({ type: "error", code: "unavailable", message, recoverable: true });

test.each([
  [`401 from http://127.0.0.1:3128/${name}/v1/messages.`, "401 from https://gateway.example/base/v1/messages."],
  [`Cannot reach 127.0.0.1:3128/${name}.`, "Cannot reach gateway.example/base."],
  [`http://localhost:3128/${name}`, "https://gateway.example/base"],
  ["Requests go through 127.0.0.1:3128.", "Requests go through gateway.example/base."],
  ["connect ECONNREFUSED 127.0.0.1:31280", "connect ECONNREFUSED 127.0.0.1:31280"],
  ["http://session:token@127.0.0.1:3128", "http://session:token@127.0.0.1:3128"],
])("StandInAddresses.inEvent names the model in a message: %s", (said, shown) => {
  for (const type of ["progress", "rate_limit", "error"] as const) {
    const event = { ...error(said), type } as AdapterEvent;
    expect(addresses(gateway).inEvent(event)).toEqual({ ...event, message: shown });
  }
});

test("StandInAddresses.inEvent names it in what the agent says, where the address is whole", () => {
  const shown = addresses(gateway);
  const said = `See http://127.0.0.1:3128/${name}/v1`;
  const meant = "See https://gateway.example/base/v1";
  expect(shown.inEvent({ type: "output", stream: "stderr", data: said })).toHaveProperty("data", meant);
  expect(shown.inEvent({ type: "thinking", content: said })).toHaveProperty("content", meant);
  const completed: AdapterEvent = {
    type: "completed",
    success: false,
    files_changed: [],
    tokens_used: null,
    cost: null,
  };
  expect(shown.inEvent({ ...completed, output: said })).toHaveProperty("output", meant);
  expect(shown.inEvent(completed)).toBe(completed);
});

test("StandInAddresses.inEvent leaves what a model may mean, and the data of tools", () => {
  const shown = addresses(gateway);
  const proxy: AdapterEvent = { type: "output", stream: "stdout", data: "Squid listens on 127.0.0.1:3128." };
  expect(shown.inEvent(proxy)).toBe(proxy);
  const result: AdapterEvent = {
    type: "tool_result",
    call_id: "1",
    tool: "Bash",
    output: `ANTHROPIC_BASE_URL=http://127.0.0.1:3128/${name}`,
    success: true,
    duration_ms: null,
  };
  expect(shown.inEvent(result)).toBe(result);
});

test("StandInAddresses.inEvent tells two models apart, and takes the proxy for neither", () => {
  const shown = addresses(gateway, new URL("https://other.example"));
  expect(shown.inEvent(error(`127.0.0.1:3128/1${name.slice(1)}/v1`))).toHaveProperty("message", "other.example/v1");
  expect(shown.inEvent(error("by 127.0.0.1:3128"))).toHaveProperty("message", "by 127.0.0.1:3128");
});

test("StandInAddresses without one returns the same event", () => {
  const said = error("127.0.0.1:3128");
  expect(addresses().inEvent(said)).toBe(said);
});
