import { sha256Hex } from "../../ground/platform/files/hash.ts";
import type { PluginScript } from "../manifest/plugin.ts";
import { type MappedScript, ScriptPositions } from "./script-positions.ts";

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
