import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { MissingWall } from "../../ground/platform/os-walls/os-wall.ts";

/**
 * The error about an agent's program that this machine cannot contain.
 * @param what such as `Cannot run "/usr/bin/agent" contained`
 */
export function uncontainedError(
  what: string,
  { reason, remedy }: Pick<MissingWall, "reason" | "remedy">,
): BulkheadError {
  return new BulkheadError("unavailable", `${what}: ${reason}`, {
    hint: `${remedy}\n` +
      "Or set os_walls.agents to off for this plugin in bulkhead.yaml: then its programs have all your rights.",
  });
}
