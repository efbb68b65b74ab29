import { freezeClosures, harden } from "../lockdown.ts";
import type { Scope } from "../scope.ts";
import { abortEndowments } from "./abort.ts";
import { consoleEndowment } from "./console.ts";
import { plainEndowments } from "./plain.ts";
import { textEndowments } from "./text.ts";
import { timerEndowments } from "./timers.ts";
import { urlEndowments } from "./url.ts";

/** The globals of a new compartment, beside the intrinsics. To add one: a file here and a line below. */
export function endowments(scope: Scope): Record<string, unknown> {
  return {
    ...sharedEndowments(),
    ...freezeClosures({ ...timerEndowments(scope), ...consoleEndowment(scope) }),
  };
}

let shared: Record<string, unknown> | null = null;

function sharedEndowments(): Record<string, unknown> {
  return shared ??= harden({ ...plainEndowments(), ...textEndowments, ...urlEndowments, ...abortEndowments });
}
