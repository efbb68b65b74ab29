import type { BinaryPin } from "../../../plugin-sdk/plugin-report.ts";

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
