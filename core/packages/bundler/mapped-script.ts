import { sha256Hex } from "../../ground/platform/files/hash.ts";
import type { Edit } from "../manifest/edits.ts";
import type { PluginScript } from "../manifest/plugin.ts";
import { ScriptPositions } from "./script-positions.ts";

/** A plugin's script, and what maps a position in it to the author's files. */
export interface MappedScript {
  /** The text that is evaluated. */
  text: string;
  /** The bundler's text, its source map, and what was changed afterwards. */
  bundled: string;
  sourceMap: string;
  edits: readonly Edit[];
}

/** The script of a plugin, its text hashed here and now. */
export function scriptOf(script: MappedScript): PluginScript {
  const positions = new ScriptPositions(script);
  return {
    text: script.text,
    sha256: sha256Hex(script.text),
    mapStack: (stack) => positions.mapStack(stack),
    sources: () => positions.sources(),
  };
}
