/** Channel for messages to and from the agent. */
export interface Transport {
  /** The agent's messages, as JSON texts, several at a time. */
  messages: AsyncIterable<readonly string[]>;
  /** Resolves when the agent's side took it. */
  send(text: string): Promise<void>;
  /** The turn is over: nothing more will be sent. */
  close(): Promise<void>;
  /** Names the reader of output that is no whole message, where there can be such output. */
  onOdd?(reader: OddOutput): void;
}

/** Reads output that is no whole message. */
export interface OddOutput {
  /** Takes the beginning of a message that is too long. */
  tooLong(beginning: string): void;
  /** Takes an unfinished line after a moment of silence; false if it may become a message. */
  unfinished(text: string): boolean;
}
