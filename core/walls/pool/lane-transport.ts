/** Why a lane closed. */
export interface LaneEnd {
  reason: "exit" | "out_of_memory" | "error" | "closed";
  message: string;
}

/** The host's end of one worker thread's channel, wherever that thread lives. */
export interface LaneTransport {
  /** Number of the lane, which is in each frame. */
  readonly id: number;
  post(frame: Uint8Array<ArrayBuffer>): void;
  /** Takes each frame's payload, a view that is valid during the call. A throw condemns the lane. */
  onPayload(take: (payload: Uint8Array) => void): void;
  readonly ended: Promise<LaneEnd>;
  /** Milliseconds for which the host has held back this thread's messages: a silent thread may have answered. */
  heldMs(): number;
  /** Charges the plugin time that its messages cost the host after they were taken. Milliseconds. */
  charge(ms: number): void;
  /** Best estimate of the thread's processor time so far; null where it cannot be measured. */
  cpuMs(): number | null;
  /** Ends the thread, or else its container. `gently`: the thread is not known to be stuck. */
  kill(why: string, options: { gently: boolean }): void;
}

/** Container of a plugin's worker threads. */
export interface Container {
  openLane(): LaneTransport;
  /** Process id of the warden; null when the threads live in the host. */
  readonly pid: number | null;
  /** True when it is being killed or is dead, and takes no more work. */
  readonly condemned: boolean;
  /** Settles when nothing of it is left. */
  readonly ended: Promise<void>;
  /** Ends all of it. Never takes longer than its grace. */
  close(): Promise<void>;
}
