import * as z from "zod";
import type { DaemonSettings } from "../daemon-settings.ts";
import { time } from "./texts.ts";

/** Not `localhost`, which is two addresses. */
const address = /^(?!localhost:)(?:[a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\]):[0-9]{1,5}$/;

/** `daemon`. */
export function daemonSection(): z.ZodType<Partial<DaemonSettings>> {
  return z.strictObject({
    port: z.int().min(0).max(65_535).exactOptional(),
    addresses: z.array(z.string().regex(address, "An address is a host and a port, such as 127.0.0.1:8000."))
      .max(16).exactOptional(),
    drain_ms: time(0, 24 * 3_600_000).exactOptional(),
    log_level: z.enum(["debug", "info", "warn", "error"]).exactOptional(),
    log_file_bytes: z.int().min(4096).exactOptional(),
    log_files: z.int().min(0).max(64).exactOptional(),
  });
}
