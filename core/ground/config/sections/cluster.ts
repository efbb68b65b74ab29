import * as z from "zod";
import { type ClusterCredentials, type ClusterSettings, defaultClusterSettings } from "../cluster-settings.ts";
import { isAbsolute } from "../../runtime/paths.ts";
import { line, time } from "./texts.ts";

/** `cluster`. */
export function clusterSection(): z.ZodType<ClusterSettings> {
  const server = line().refine((text) => /^(?:nats|tls):\/\/[^\s/@]+$/.test(text), {
    params: { expected: "nats://host:port or tls://host:port, without a user" },
  });
  const name = z.string().refine((text) => /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/.test(text), {
    params: { expected: "1 to 32 of the characters a-z, 0-9 and -" },
  });
  const label = z.string().min(1).max(64);
  const folder = line().refine(isAbsolute, { params: { expected: "an absolute path" } });
  const { prefix, labels, shared_folders, replicas, heartbeat_ms, silent_ms } = defaultClusterSettings;
  return z.strictObject({
    servers: z.array(server).min(1).max(16),
    name,
    prefix: name.default(prefix),
    labels: z.record(label, z.string().max(256)).default(labels),
    shared_folders: z.array(folder).max(64).default(shared_folders),
    slots: z.int().min(1).max(1_000_000).exactOptional(),
    credentials: credentials().exactOptional(),
    tls: z.strictObject({
      ca_file: line().exactOptional(),
      cert_file: line().exactOptional(),
      key_file: line().exactOptional(),
    }).exactOptional(),
    replicas: z.int().refine((count) => [1, 3, 5].includes(count), { params: { expected: "1, 3 or 5" } })
      .default(replicas),
    heartbeat_ms: time(100, 60_000).default(heartbeat_ms),
    silent_ms: time(500, 3_600_000).default(silent_ms),
  }).refine((settings) => settings.silent_ms >= 3 * settings.heartbeat_ms, {
    path: ["silent_ms"],
    params: { expected: "at least three times heartbeat_ms" },
  });
}

function credentials(): z.ZodType<ClusterCredentials> {
  return z.union([
    z.strictObject({ file: line() }),
    z.strictObject({ user: line(), password: line() }),
    z.strictObject({ token: line() }),
  ]);
}
