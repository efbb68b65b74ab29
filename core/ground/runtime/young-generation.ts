import { setFlagsFromString } from "node:v8";

/**
 * Keeps the engine's space for short-lived objects as small as it starts. While a daemon loads its modules that space
 * would grow by some 18 MB, and an idle process gives little of it back.
 */
export function holdYoungGeneration(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** Lets that space grow with what is allocated, as it does by default: work needs it. */
export function letYoungGenerationGrow(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
}
