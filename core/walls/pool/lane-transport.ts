/** Why a lane closed. */
export interface LaneEnd {
  reason: "exit" | "out_of_memory" | "error" | "closed";
  message: string;
}

/** The host's end of one worker thread's channel, wherever that thread lives. */
export interface LaneTransport {
  /** Number of the lane, which stands in each frame. */
  readonly id: number;
  post(frame: Uint8Array<ArrayBuffer>): void;
  /** Takes each frame's payload, a view that is valid during the call. A throw condemns the lane. */
  onPayload(take: (payload: Uint8Array) => void): void;
  readonly ended: Promise<LaneEnd>;
  /** Milliseconds for which the host held back this thread's messages so far: one that is not heard may have spoken. */
  heldMs(): number;
  /** Charges the plugin time that its messages cost the host after they were taken. Milliseconds. */
  charge(ms: number): void;
  /** Processor time that the thread has used so far, as well as it is known; null where it cannot be measured. */
  cpuMs(): number | null;
  /**
   * Ends the thread, and what contains it when the thread alone cannot be ended. `gently` says that the thread is not
   * known to be stuck.
   */
  kill(why: string, options: { gently: boolean }): void;
}

/** What contains a plugin's worker threads. */
export interface Container {
  openLane(): LaneTransport;
  /** Process id of the warden; null when the threads live in the host. */
  readonly pid: number | null;
  /** True when it is being killed or is dead, and serves nobody any more. */
  readonly condemned: boolean;
  /** Settles when nothing of it is left. */
  readonly ended: Promise<void>;
  /** Ends all of it. Never takes longer than its grace. */
  close(): Promise<void>;
}
