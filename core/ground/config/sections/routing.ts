import * as z from "zod";
import { type AgentCapabilities, capabilityFlags } from "../../../../plugin-sdk/capabilities.ts";
import type { Routing } from "../host-manifest.ts";
import { line, positive, time } from "./texts.ts";

/** `routing`. */
export function routingSection(): z.ZodType<Routing> {
  const capabilities: z.ZodType<AgentCapabilities> = z.strictObject({
    ...Object.fromEntries(capabilityFlags.map((flag) => [flag, z.boolean().exactOptional()])),
    max_context_tokens: positive().exactOptional(),
    custom: z.record(z.string().min(1).max(64), z.boolean()).exactOptional(),
  });
  return z.strictObject({
    agent: z.union([line(), z.array(line()).min(1).max(64)]).default("auto"),
    order: z.array(line()).max(64).exactOptional(),
    require: capabilities.exactOptional(),
    availability_ttl_ms: time(0).exactOptional(),
  });
}
