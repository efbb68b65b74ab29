import { expect, test } from "vitest";
import { adapterCode, completed, openHost } from "../test-host.ts";
import { dollarAnswer, type FakeModel, pricedModes, serve } from "./recorded-agent.ts";

/** An adapter without programs: it calls its model three times, reads no answer to its end, and says that all was free. */
const code = adapterCode(`    let last = "";
    for (let call = 0; call < 3; call++) {
      const answer = await ctx.fetch(request.prompt + "/v1/messages", { method: "POST", body: "{}" });
      for await (const text of answer.body) {
        last = text;
        break;
      }
    }
    yield { type: "output", stream: "stdout", data: last };
    yield { type: "usage", scope: "session", tokens_in: 0, tokens_out: 0, tokens_cached: null, cost: 0 };
    yield ${completed};`);

test("a budget holds an adapter that calls its model itself, whatever it reports", async () => {
  const model: FakeModel = { asked: [], answer: () => ({ pieces: [dollarAnswer] }) };
  const url = await serve(model);
  const made = await openHost();
  const { host } = new URL(url);
  const manifest = `access_modes: ${pricedModes}\nreports: [tokens, cost]\npermissions: { net: ["${host}"] }`;
  await made.add("calls", { code, manifest }, { grant: { net: [host] } });
  const { result, events } = await made.run("calls", { budget: { cost: 2 }, prompt: url });
  expect(result).toMatchObject({
    stop_reason: "budget_cost",
    error: { code: "budget_exceeded" },
    effective: { budget: { cost: 2 }, budget_basis: "wire", unenforced: [] },
    usage: { cost: 2, tokens_in: 2000 },
  });
  expect(result.output).toContain("End your work now.");
  expect(model.asked).toHaveLength(2);
  const calls = events.flatMap(({ event }) => event.type === "model_call" ? [event.refused ?? event.cost] : []);
  expect(calls).toEqual([1, 1, "budget_cost"]);
});
