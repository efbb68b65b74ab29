import type { Target } from "../target.ts";
import { addressTargets } from "./addresses.ts";
import { channelTargets } from "./channel.ts";
import { eventTargets } from "./events.ts";
import { journalTargets } from "./journal.ts";
import { manifestTargets } from "./manifests.ts";
import { pathTargets } from "./paths.ts";
import { patternTargets } from "./patterns.ts";
import { permissionTargets } from "./permissions.ts";
import { textTargets } from "./texts.ts";

/** Everything that is fuzzed. To add one: a target in a file here, and a line below for a new file. */
export const targets: readonly Target[] = [
  ...manifestTargets,
  ...permissionTargets,
  ...patternTargets,
  ...pathTargets,
  ...addressTargets,
  ...channelTargets,
  ...eventTargets,
  ...journalTargets,
  ...textTargets,
];
