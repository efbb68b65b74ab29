/** A message of a stream. */
export interface StreamMessage {
  seq: number;
  subject: string;
  headers: Readonly<Record<string, string>>;
  data: Uint8Array;
  /** When the servers took it. Milliseconds since 1970. */
  atMs: number;
}

/** A message for a stream. */
export interface OutgoingMessage {
  subject: string;
  headers: Readonly<Record<string, string>>;
  data: Uint8Array | string;
}

/** A message that only one machine gets, and again if it is not done with it. */
export interface Job {
  subject: string;
  data: Uint8Array;
  /** Times that it was given out. */
  times: number;
  done(): void;
  /** Gives it to the next one, after a time. Milliseconds. */
  giveBack(delayMs: number): void;
  keep(): void;
}
