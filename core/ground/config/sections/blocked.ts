import validRange from "semver/ranges/valid.js";
import * as z from "zod";
import type { BlockedPlugin } from "../host-manifest.ts";
import { line } from "./texts.ts";

/** `blocked`: plugins that are never used; it overrides every other setting. */
export function blockedSection(): z.ZodType<BlockedPlugin[]> {
  const range = z.string().min(1).max(256).refine((text) => validRange(text) !== null, {
    params: { expected: "a range of versions such as <1.2.3" },
  });
  const entry = z.strictObject({
    plugin: z.string().min(1).max(64).exactOptional(),
    package: z.string().min(1).max(214).exactOptional(),
    versions: range.exactOptional(),
    because: line().exactOptional(),
  }).refine(({ plugin, package: name }) => plugin !== undefined || name !== undefined, {
    params: { expected: "plugin, an id, or package, the name of an npm package" },
  });
  return z.array(entry).max(1024).nullable().transform((blocked) => blocked ?? []);
}
