import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import { requestedWith } from "../../core/packages/permissions/requested-permissions.ts";
import { runAdapter } from "../../plugin-sdk/testing/run-adapter.ts";
import AcpAgent from "../../plugins/acp/mod.ts";
import { Collector, type TakenSpan } from "../records/telemetry/collector.ts";
import { client } from "../records/telemetry/recorded-session.ts";
import { openStandIn } from "./stand-in.ts";
import { agentOf } from "./wire-agent.ts";

const traceparent = `00-${client.trace}-${client.span}-01`;

test("one tree goes from the client's span through session and tool to the agent's program", async () => {
  const collector = await Collector.start();
  try {
    const manifest = `telemetry: { endpoint: "${collector.endpoint}" }\n`;
    const agent = await openStandIn("codex", { binary: "codex", manifest });
    expect((await agent.run({ prompt: "[[scn:tool]]", traceparent })).result).toMatchObject({
      stop_reason: "end_turn",
    });
    const [call] = await agent.calls();
    await agent.made.host.close();
    expect(collector.faults).toEqual([]);
    const [, trace, span] = call!.env["TRACEPARENT"]!.split("-");
    const byId = new Map(collector.spans.map((one) => [one.spanId, one]));
    const pathOf = (one: TakenSpan | undefined): string[] =>
      one === undefined ? [] : [...pathOf(byId.get(one.parentSpanId ?? "")), one.name.split(" ")[0]!];
    expect(byId.get(span!)).toMatchObject({ name: "invoke_agent codex", parentSpanId: client.span });
    expect(new Set([trace, ...collector.spans.map(({ traceId }) => traceId)])).toEqual(new Set([client.trace]));
    const paths = collector.spans.map((one) => pathOf(one).join(" > "));
    expect(paths).toEqual(expect.arrayContaining([
      "invoke_agent",
      "invoke_agent > attempt",
      "invoke_agent > attempt > execute_tool",
      "invoke_agent > attempt > chat",
      "invoke_agent > attempt > process",
    ]));
  } finally {
    await collector.close();
  }
});

test("the agents whose programs read TRACEPARENT are handed it", async () => {
  const envOf = async (id: string, config: Record<string, unknown> = {}) => {
    const manifest = await readManifest(fileURLToPath(new URL(`../../plugins/${id}`, import.meta.url)));
    return (requestedWith(manifest, config).run ?? []).flatMap(({ env = [] }) => env);
  };
  for (const env of [await envOf("claude-code"), await envOf("codex"), await envOf("acp", { agent: "claude" })]) {
    expect(env).toContain("TRACEPARENT");
  }
});

test("an ACP agent gets the span with each prompt, and without one nothing", async () => {
  const url = "ws://agent.example/acp";
  const prompted = async (request: { traceparent?: string }) => {
    const metas: unknown[] = [];
    const { answer } = agentOf({
      prompt({ message, end }) {
        metas.push((message["params"] as Record<string, unknown>)["_meta"]);
        return [end()];
      },
    });
    const options = { config: { custom: { url } }, sockets: { [url]: { answer } }, turns: [{}, { prompt: "More." }] };
    await runAdapter(AcpAgent, request, options);
    return metas;
  };
  expect(await prompted({ traceparent })).toEqual([{ traceparent }, { traceparent }]);
  expect(await prompted({})).toEqual([undefined, undefined]);
});
