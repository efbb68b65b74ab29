import { dropNetwork } from "../../ground/platform/net/drop-network.ts";
import { openThreadPipe } from "../../ground/platform/processes/thread-pipe.ts";
import { bytePort, exitThread, forbidThreads, onUncaught, type RawPort } from "../../ground/platform/engine/threads.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { SafeAbortController } from "./endowments/abort.ts";
import { GuestLane } from "./guest-lane.ts";
import { harden, lockThread } from "./lockdown.ts";
import { describeThrown } from "./thrown.ts";

// Locks the thread before any script can arrive, and freezes the objects that adapter code will get from us.
forbidThreads();
lockThread();
// Its parent would otherwise be the thread's own Error, which can do more than the tame one of adapter code.
Object.setPrototypeOf(BulkheadError, Error.prototype.constructor);
harden(BulkheadError);
harden(SafeAbortController);

/** Message from the pool to a new worker thread. */
interface ServeTask {
  port: RawPort;
  lane: number;
  /** Number of the thread's own pipe to the host; absent: all goes through the port. */
  descriptor: number | undefined;
}

/** Serves one plugin's sessions on this thread until the port closes. */
export function serve({ port, lane, descriptor }: ServeTask): Promise<void> {
  const life = bytePort(port);
  const channel = descriptor === undefined ? life : openThreadPipe(descriptor);
  dropNetwork();
  const guest = new GuestLane(channel, lane);
  onUncaught((thrown, origin) => {
    if (guest.isLate(thrown)) return;
    const error = describeThrown(thrown, "crash");
    guest.fail({ ...error, message: `The adapter left an uncaught ${origin}: ${error.message}` });
    void channel.written().then(() => exitThread(1));
  });
  return new Promise((resolve) => life.onClose(resolve));
}
