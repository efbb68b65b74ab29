import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../../plugin-sdk/schema.ts";
import { type Signal, toPrometheusText } from "../../../ground/log/prometheus-text.ts";
import { hmacSha256Hex } from "../../../ground/platform/files/hash.ts";
import { isProvable } from "../check-origin.ts";
import { type ApiRoute, type ApiRouteDeps, json, ok, route } from "../route.ts";
import { textResponse } from "../text-response.ts";
import type { ReloadChanges } from "../door-options.ts";

const proofQuery = Type.Object({
  token_id: Type.String({ pattern: "^[0-9a-f]{32}$" }),
  nonce: Type.String({ pattern: "^[0-9a-f]{32,64}$" }),
}, closed);

/** Text for a person who opens the daemon's address in a browser. */
const introduction = `This is Bulkhead, a host for AI agents, on this computer.

It has an API for programs, and a page for people that a command opens.

  bulkhead console           opens the page
  bulkhead session list      shows the sessions in a terminal
  bulkhead help http-api     explains the API
  GET /v1/openapi.json       describes it for programs, with a token
`;

/** Routes for the state of the host. */
export const hostRoutes: readonly ApiRoute[] = [
  route({
    id: "introduce",
    at: "GET /",
    summary: "say to a person with a browser what this is",
    scope: "public",
    answers: { 200: { summary: "a few lines", types: ["text/plain"] } },
    handle: () => textResponse(introduction, { type: "text/plain; charset=utf-8" }),
  }),
  route({
    id: "health",
    at: "GET /health",
    summary: "say that the host is alive",
    scope: "public",
    answers: ok("it is", Type.Object({ status: Type.Literal("ok"), program: Type.Literal("bulkhead") })),
    handle: () => json({ status: "ok", program: "bulkhead" }),
  }),
  route({
    id: "ready",
    at: "GET /ready",
    summary: "say whether the host takes sessions",
    scope: "public",
    answers: ok("it does", Type.Object({ ready: Type.Boolean() })),
    async handle(_, { facts }) {
      const { ready, reason = "it is not ready", isClosing = false } = await facts.readiness();
      if (ready) return json({ ready });
      const sentence = `The host takes no sessions: ${reason.replace(/\.$/, "")}.`;
      throw new BulkheadError(isClosing ? "host_closed" : "unavailable", sentence);
    },
  }),
  route({
    id: "prove",
    at: "GET /v1/proof",
    summary: "prove to a client that this server knows its token, before it is sent",
    scope: "public",
    query: proofQuery,
    answers: ok("the proof", Type.Object({ proof: Type.String() })),
    async handle({ query: { token_id, nonce }, headers }, { tokens, meters, hosts }) {
      const host = (headers.get("host") ?? "").toLowerCase();
      if (!isProvable(host, hosts())) throw unproven(host, hosts());
      const key = await tokens.keyOf(token_id);
      if (key !== null) return json({ proof: hmacSha256Hex(key, `${host}\n${nonce}`) });
      meters.countRefusal("proof");
      throw new BulkheadError("not_found", "There is no token with this id.", {
        hint: '"bulkhead token list" lists those there are.',
      });
    },
  }),
  route({
    id: "metrics",
    at: "GET /metrics",
    summary: "show counters and gauges in Prometheus' text format",
    scope: "read",
    answers: { 200: { summary: "all of them", schema: Type.String(), types: ["text/plain; version=0.0.4"] } },
    handle: (_, deps) =>
      textResponse(toPrometheusText([...deps.facts.signals(), ...ownSignals(deps)]), {
        type: "text/plain; version=0.0.4; charset=utf-8",
      }),
  }),
];

function unproven(host: string, hosts: readonly string[]): BulkheadError {
  const [address] = hosts.filter((one) => isProvable(one, hosts));
  return new BulkheadError(
    "forbidden",
    `Cannot prove the server as "${host}": it is no address of this server alone.`,
    {
      hint: `Use http://${address}, or add the address of a forwarded port to daemon.addresses in bulkhead.yaml.`,
    },
  );
}

function ownSignals({ meters }: ApiRouteDeps): Signal[] {
  return [{
    name: "bulkhead_http_streams",
    help: "Streams of events that are open over HTTP.",
    type: "gauge",
    samples: [{ labels: {}, value: meters.open }],
  }];
}

const names = Type.Array(Type.String());

/** The route that reloads the host manifest. */
export const reloadRoute: ApiRoute = route({
  id: "reload",
  at: "POST /v1/reload",
  summary: "put the host manifest that is there now into force, for the sessions to come",
  scope: "admin",
  answers: {
    200: {
      summary: "what changed; with errors in it the old one stays in force",
      schema: exactly<ReloadChanges>()(Type.Object({
        added: names,
        removed: names,
        changed: names,
        unavailable: names,
        restart_needed: names,
      })),
    },
  },
  handle: async (_, { facts }) => json(await facts.reload()),
});
