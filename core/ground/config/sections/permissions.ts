import * as z from "zod";
import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import { line, names, positive } from "./texts.ts";

/** `grant` and `deny`. A program or secret may be named alone. */
export function permissionsSection(): z.ZodType<Permissions> {
  const name = z.string().min(1).max(256);

  const run = z.union([
    line().transform((binary) => ({ binary })),
    z.strictObject({
      binary: line(),
      args: z.array(z.string().max(4096)).max(64).exactOptional(),
      env: names().exactOptional(),
      contain: z.enum(["workdir", "off"]).exactOptional(),
      contain_net: z.boolean().exactOptional(),
    }),
  ]);

  const secret = z.union([
    name.transform((text) => ({ name: text })),
    z.strictObject({ name, env: names().exactOptional(), hosts: names().exactOptional() }),
  ]);

  return z.strictObject({
    run: z.array(run).max(64).exactOptional(),
    read: z.array(line()).max(64).exactOptional(),
    write: z.array(line()).max(64).exactOptional(),
    net: names().exactOptional(),
    env: names().exactOptional(),
    secrets: z.array(secret).max(64).exactOptional(),
    mcp_servers: z.array(line()).max(64).exactOptional(),
    kv: z.boolean().exactOptional(),
    limits: z.strictObject({
      children: positive().exactOptional(),
      file_bytes: positive().exactOptional(),
      response_bytes: positive().exactOptional(),
    }).exactOptional(),
  });
}
