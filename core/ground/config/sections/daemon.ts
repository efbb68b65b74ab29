import * as z from "zod";
import type { DaemonSettings } from "../daemon-settings.ts";
import { time } from "./texts.ts";

/** `daemon`. */
export function daemonSection(): z.ZodType<Partial<DaemonSettings>> {
  return z.strictObject({
    port: z.int().min(0).max(65_535).exactOptional(),
    drain_ms: time(0, 24 * 3_600_000).exactOptional(),
    log_level: z.enum(["debug", "info", "warn", "error"]).exactOptional(),
    log_file_bytes: z.int().min(4096).exactOptional(),
    log_files: z.int().min(0).max(64).exactOptional(),
  });
}
