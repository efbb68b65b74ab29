import { expect, test } from "vitest";
import { readTraceparent, traceparentFor } from "../../../core/ground/checks/trace-context.ts";
import { handedTrace, withTrace } from "../../../core/sessions/host/check-request.ts";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { Collector } from "../../records/telemetry/collector.ts";
import { client } from "../../records/telemetry/recorded-session.ts";
import { adapterCode, completed, errorOf, hostManifest, openHost } from "./test-host.ts";

const traceparent = `00-${client.trace}-${client.span}-01`;

test("a host sends its sessions to the collector of its manifest, with a secret in a header, and hands the span on", async () => {
  const collector = await Collector.start();
  try {
    const secrets = "secrets: { COLLECTOR_KEY: env:PATH }\n";
    const headers = 'headers: { x-key: "${secret:COLLECTOR_KEY}" }';
    const manifest = await hostManifest(`${secrets}telemetry: { endpoint: "${collector.endpoint}", ${headers} }\n`);
    const { host, add, run } = await openHost(manifest);
    await add("works", {
      code: adapterCode(`
        yield { type: "tool_call", call_id: "1", tool: "Read", kind: "read", input: {} };
        yield { type: "tool_result", call_id: "1", tool: "Read", output: "", success: true, duration_ms: 1 };
        yield { type: "output", stream: "stdout", data: request.traceparent };
        yield ${completed};`),
    });
    const { result } = await run("works", { traceparent, prompt: "PROMPT-1" });
    await host.close();
    expect(result.output).toBe(traceparentFor(result.session_id, traceparent));
    expect(collector.faults).toEqual([]);
    const session = collector.spans.find(({ name }) => name === "invoke_agent works")!;
    expect(session).toMatchObject({ traceId: client.trace, parentSpanId: client.span });
    expect(result.output.split("-")[2]).toBe(session.spanId);
    expect(collector.spans.map(({ name }) => name)).toContain("execute_tool Read");
    expect(collector.bodies.join()).not.toContain("PROMPT-1");
    expect(collector.headers[0]?.["x-key"]).toBe(process.env["PATH"]);
  } finally {
    await collector.close();
  }
});

test("readTraceparent takes W3C's form, and nothing else", () => {
  expect(readTraceparent(traceparent)).toBe(traceparent);
  expect(readTraceparent(traceparent.replace(/^00/, "cc") + "-more")).toBe(traceparent);
  for (
    const wrong of [
      "",
      traceparent.toUpperCase(),
      `${traceparent}-more`,
      traceparent.replace(/^00/, "ff"),
      traceparent.replace(client.trace, "0".repeat(32)),
      traceparent.replace(client.span, "0".repeat(16)),
      "x".repeat(10_000),
      7,
      null,
    ]
  ) expect(readTraceparent(wrong)).toBeUndefined();
});

test("a program gets the span only where TRACEPARENT is granted, and never another than the request names", () => {
  const run = [{ binary: "agent", args: [], env: ["TRACEPARENT"] }];
  expect(withTrace({}, { run }, { traceparent })).toEqual({ TRACEPARENT: traceparent });
  expect(withTrace({}, { run: [] }, { traceparent })).toEqual({});
  expect(withTrace({ TRACEPARENT: "own" }, { run }, { traceparent })).toEqual({ TRACEPARENT: "own" });
  expect(withTrace({}, { run }, {})).toEqual({});
});

test("without telemetry an agent gets the client's span, which is then the nearest one that is recorded", () => {
  const request = { workdir: "/w", prompt: "", traceparent };
  expect(handedTrace({ manifest: undefined }, { sessionId: "s", request })).toEqual({ traceparent });
  expect(handedTrace({ manifest: undefined }, { sessionId: "s", request: { workdir: "/w", prompt: "" } })).toEqual({});
});

test("the manifest's section has defaults, and refuses what is no address, header or known convention", async () => {
  const read = (lines: string) => parseHostManifest(`bulkhead: 1\ntelemetry: ${lines}\n`, { file: "bulkhead.yaml" });
  expect(read("{ endpoint: http://127.0.0.1:4318 }").telemetry).toEqual({
    endpoint: "http://127.0.0.1:4318",
    headers: {},
    content: false,
    convention: "0.1.0",
    sample: 1,
    backlog_ms: 86_400_000,
    backlog_events: 1_000_000,
  });
  for (
    const wrong of [
      "{}",
      "{ endpoint: ftp://host }",
      "{ endpoint: http://user:key@host }",
      "{ endpoint: http://host, convention: 2.0.0 }",
      '{ endpoint: http://host, headers: { "a b": c } }',
      '{ endpoint: http://host, headers: { a: "${env:KEY}" } }',
      "{ endpoint: http://host, sample: 2 }",
      "{ endpoint: http://host, more: 1 }",
    ]
  ) expect((await errorOf(Promise.resolve().then(() => read(wrong)))).code).toBe("invalid_config");
});
