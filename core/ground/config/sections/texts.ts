import * as z from "zod";

/** A line of text that is not empty. */
export function line(): z.ZodString {
  return z.string().min(1).max(1024);
}

/** A list of names. */
export function names(): z.ZodArray<z.ZodString> {
  return z.array(z.string().min(1).max(256)).max(64);
}

/** A whole number of at least 1. */
export function positive(): z.ZodInt {
  return z.int().min(1);
}
