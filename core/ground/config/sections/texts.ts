import * as z from "zod";
import { readTime, timePattern } from "../read-time.ts";

/** A line of text that is not empty. */
export function line(): z.ZodString {
  return z.string().min(1).max(1024);
}

/** A list of names. */
export function names(): z.ZodArray<z.ZodString> {
  return z.array(z.string().min(1).max(256)).max(64);
}

/** A time: whole milliseconds within these bounds, or a number with a unit, such as `90s`. */
export function time(least = 1, most: number = Number.MAX_SAFE_INTEGER): z.ZodType<number> {
  const whole = z.int().min(least).max(most);
  const typed = z.string().regex(timePattern).meta({ title: "a time", examples: ["90s"] });
  return z.union([whole, typed.transform(readTime).pipe(whole)]);
}

/** A whole number of at least 1. */
export function positive(): z.ZodInt {
  return z.int().min(1);
}
