/** Something that reads what strangers write. */
export interface Target {
  /** Lowercase words with hyphens; names its finds. */
  name: string;
  /** Share of the inputs, against the other targets. */
  weight: number;
  /** Inputs that are right, or nearly, from which others are made. */
  seeds: readonly string[];
  /** Words of the language of its inputs. */
  tokens: readonly string[];
  /**
   * Reads one input. It may refuse it with an error of the table; anything else that it throws is a find, as is an
   * answer that breaks what was promised, for which it throws an Error itself.
   */
  read(input: string): unknown;
  /** Clears away what was made for all inputs. */
  close?(): Promise<void>;
}

/** Fails when something promised does not hold for an input. */
export function promise(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(`Broken promise: ${sentence}`);
}

/** Bytes of an input in which each character stands for one. */
export function bytesOf(input: string): Uint8Array {
  return Uint8Array.from(input, (character) => character.charCodeAt(0) & 0xff);
}

/** The reverse of {@link bytesOf}. */
export function textOf(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
