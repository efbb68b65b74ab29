import { Type } from "@sinclair/typebox";
import type { ClusterLog, ClusterMachine, ClusterStatus } from "../../../../plugin-sdk/cluster-status.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { exactly } from "../../../../plugin-sdk/schema.ts";
import { type ApiRoute, json, route } from "../route.ts";
import { maybe, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";

const whole = Type.Integer();
const labels = Type.Record(Type.String(), Type.String());

const machine = named(
  "ClusterMachine",
  exactly<ClusterMachine>()(Type.Object({
    name: text,
    state: oneOf(["present", "leaving", "left", "silent", "lost"] as const),
    self: Type.Boolean(),
    version: maybe(text),
    runtime: maybe(text),
    labels,
    agents: Type.Array(text),
    other_agents: Type.Array(text),
    sessions: maybe(whole),
    slots: maybe(whole),
    started_at: maybe(text),
    silent_ms: maybe(whole),
    skew_ms: maybe(whole),
  })),
);

const log = named(
  "ClusterLog",
  exactly<ClusterLog>()(Type.Object({
    machine: text,
    writer: maybe(text),
    messages: whole,
    bytes: whole,
    replicas: whole,
    leader: maybe(text),
    gseq: whole,
    behind: whole,
    refused: whole,
  })),
);

const cluster = named(
  "ClusterStatus",
  exactly<ClusterStatus>()(Type.Object({
    machine: text,
    prefix: text,
    connected: Type.Boolean(),
    server: text,
    server_version: text,
    round_trip_ms: maybe(Type.Number()),
    waiting_entries: whole,
    waiting_sessions: whole,
    slots: whole,
    host_sessions: whole,
    machines: Type.Array(machine),
    logs: Type.Array(log),
  })),
);

/** The route that shows the machines of a cluster. */
export const clusterRoute: ApiRoute = route({
  id: "showCluster",
  at: "GET /v1/cluster",
  summary: "show the machines of the cluster, as this one sees them, and their logs on the servers",
  scope: "read",
  answers: { 200: { summary: "all of it", schema: cluster } },
  async handle(_, { facts }) {
    const status = await facts.cluster();
    if (status !== null) return json(status);
    throw new BulkheadError("not_found", "Cannot show the cluster: this host is alone.", {
      hint: 'Name the servers under "cluster" in bulkhead.yaml, and restart the daemon.',
    });
  },
});
