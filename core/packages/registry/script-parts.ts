import { sha256Hex } from "../../ground/runtime/hash.ts";
import type { Edit } from "./edits.ts";
import type { PluginScript } from "./plugin.ts";
import { ScriptPositions } from "./script-positions.ts";

/** A plugin's script with what its positions are found by. */
export interface ScriptParts {
  /** The text that is evaluated. */
  text: string;
  /** The bundler's text, its source map, and what was changed afterwards. */
  bundled: string;
  sourceMap: string;
  edits: readonly Edit[];
}

/** The script of a plugin, its text hashed here and now. */
export function scriptOf(parts: ScriptParts): PluginScript {
  const positions = new ScriptPositions(parts);
  return {
    text: parts.text,
    sha256: sha256Hex(parts.text),
    mapStack: (stack) => positions.mapStack(stack),
    sources: () => positions.sources(),
  };
}
