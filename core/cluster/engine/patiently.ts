import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { sleep } from "../../ground/platform/engine/wait.ts";

/** How long servers may take to choose a leader. Milliseconds. */
const patienceMs = 30_000;
const pauseMs = 250;

/**
 * Asks servers that may be choosing a leader, again and again, for a while.
 * @param act what is asked for, as in "Cannot join the cluster"
 * @throws {BulkheadError} `unavailable` when they have not answered; errors of this host as they are
 */
export async function patiently<T>(act: string, ask: () => Promise<T>): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      return await ask();
    } catch (cause) {
      if (cause instanceof BulkheadError) throw cause;
      if (performance.now() >= end) throw slowError(act, cause);
      await sleep(pauseMs);
    }
  }
}

function slowError(act: string, cause: unknown): BulkheadError {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new BulkheadError("unavailable", `Cannot ${act}: the cluster's servers do not answer (${said}).`, {
    hint:
      "Look at the servers: most of them must be up, with JetStream, and with room for as many replicas as you ask for.",
    cause,
  });
}
