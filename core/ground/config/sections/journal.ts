import * as z from "zod";
import type { HostManifest } from "../host-manifest.ts";
import { journalSyncs } from "../journal-sync.ts";
import { positive, time } from "./texts.ts";

/** `journal`: how long, and up to what size, ended sessions are kept, and what an acknowledged event survives. */
export function journalSection(): z.ZodType<NonNullable<HostManifest["journal"]>> {
  return z.strictObject({
    keep_ms: time().exactOptional(),
    max_bytes: positive().exactOptional(),
    sync: z.enum(journalSyncs).exactOptional(),
  });
}
