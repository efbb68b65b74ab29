import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { tellingLine } from "../../ground/log/telling-line.ts";

const smaller = "Make its source smaller and less deeply nested";
/** Characters of a bundler's output that are shown. */
const mostShown = 300;

/** A bundler that had to be stopped. */
export function lateError(pluginId: string, timeoutMs: number): BulkheadError {
  const message = `Cannot bundle plugin "${pluginId}": it was not done within ${timeoutMs / 1000} seconds.`;
  return new BulkheadError("bundle_failed", message, {
    hint: "Make its source smaller, and look in its folder for named pipes and links to a disk that does not answer.",
    details: { plugin_id: pluginId, reason: "timeout" },
  });
}

/** Facts about a bundler that ended amid its work. */
interface BundlerDeath {
  /** Why the host ended it; null when it ended by itself. */
  broken: string | null;
  printed: string;
  /** Megabytes that it could take. */
  mb: number;
}

/** A bundler that ended amid its work. */
export function deathError(pluginId: string, { broken, printed, mb }: BundlerDeath): BulkheadError {
  if (broken !== null) return brokenError(pluginId, broken);
  const outOfMemory = /out of memory|cannot allocate memory/i.test(printed);
  const what = outOfMemory ? `took more than the ${mb} MB of memory that it may take` : "crashed";
  const hint = outOfMemory ? `${smaller}, or raise the limit bundle_mb.` : `${smaller}.`;
  return new BulkheadError("bundle_failed", `Cannot bundle plugin "${pluginId}": the bundler ${what}.`, {
    hint,
    details: {
      plugin_id: pluginId,
      reason: outOfMemory ? "out_of_memory" : "crash",
      printed: tellingLine(printed, { of: "head", most: mostShown }),
    },
  });
}

/** A bundler whose answer cannot be used. */
export function brokenError(pluginId: string, why: string): BulkheadError {
  return new BulkheadError("bundle_failed", `Cannot bundle plugin "${pluginId}": the bundler broke: ${why}`, {
    details: { plugin_id: pluginId, reason: "protocol" },
  });
}
