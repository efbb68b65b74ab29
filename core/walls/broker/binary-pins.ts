/** Location of a granted program when it was granted, or first used: a session starts only that file. */
export interface BinaryPin {
  /** Name in the grant. */
  binary: string;
  /** Absolute path where it was found, with links in it unresolved. */
  path: string;
  /** The file after resolving links. */
  real: string;
  /** User id of the file's owner. */
  owner: number;
  /** RFC 3339, UTC. */
  pinned_at: string;
}

/** The pins of one plugin. */
export interface BinaryPins {
  /**
   * Null when the program is not pinned yet.
   * @throws {BulkheadError} `io_error` for a pin that is there and cannot be read
   */
  read(binary: string): Promise<BinaryPin | null>;
  write(pin: BinaryPin): Promise<void>;
  /** All pins, by name, without unreadable ones. */
  list(): Promise<BinaryPin[]>;
}
