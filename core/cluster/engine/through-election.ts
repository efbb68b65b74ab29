import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { sleep } from "../../ground/platform/engine/wait.ts";
import { type Engine, StaleError } from "./engine.ts";

/** How long a client's request waits for servers that choose a leader. Milliseconds. */
const electionMs = 15_000;
const pauseMs = 100;

/**
 * Asks servers again that do not answer, as while they choose a leader, unless they cannot be reached. The question
 * may have been taken although its answer was lost, so it must be one that can be asked twice.
 * @throws {unknown} the last error
 */
export async function throughElection<T>(engine: Pick<Engine, "isSoonConnected">, ask: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + electionMs;; await sleep(pauseMs)) {
    try {
      return await ask();
    } catch (error) {
      const isAnswer = error instanceof StaleError || error instanceof BulkheadError;
      if (isAnswer || performance.now() >= end || !(await engine.isSoonConnected())) throw error;
    }
  }
}
