/** Where a granted program was when it was granted, or first used: a session starts that one and no other. */
export interface BinaryPin {
  /** As the grant names it. */
  binary: string;
  /** Absolute path that it was found by; links in it are not followed. */
  path: string;
  /** The file behind it. */
  real: string;
  /** Id of the user whom the file belongs to. */
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
  /** All of them, by name. Leaves out those that cannot be read. */
  list(): Promise<BinaryPin[]>;
}
