import { bytePort, exitThread, forbidThreads, onUncaught, type RawPort } from "../../ground/runtime/threads.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { SafeAbortController } from "./endowments/abort.ts";
import { GuestLane } from "./guest-lane.ts";
import { harden, lockThread } from "./lockdown.ts";
import { describeThrown } from "./thrown.ts";

// The thread is locked before any script can arrive; what adapter code will hold of ours is frozen with it.
forbidThreads();
lockThread();
// Its parent would be the thread's own Error, which can do more than the tame one that adapter code has.
Object.setPrototypeOf(BulkheadError, Error.prototype.constructor);
harden(BulkheadError);
harden(SafeAbortController);

/** What the pool hands to a new worker thread. */
export interface ServeTask {
  port: RawPort;
  lane: number;
}

/** Serves one plugin's sessions on this thread until the port closes. */
export function serve({ port, lane }: ServeTask): Promise<void> {
  const bytes = bytePort(port);
  const guest = new GuestLane(bytes, lane);
  onUncaught((thrown, origin) => {
    if (guest.isLate(thrown)) return;
    const error = describeThrown(thrown, "crash");
    guest.fail({ ...error, message: `The adapter left an uncaught ${origin}: ${error.message}` });
    exitThread(1);
  });
  return new Promise((resolve) => bytes.onClose(resolve));
}
