import * as z from "zod";
import { osWallNames, type OsWallUses } from "../../runtime/os-walls/os-wall.ts";
import { defaultLimits, type Limits } from "../limits.ts";
import { positive, time } from "./texts.ts";

/** `limits`, for all plugins or for one. */
export function limitsSection(): z.ZodType<Partial<Limits>> {
  return z.strictObject(
    Object.fromEntries(
      Object.keys(defaultLimits).map((key) => [key, (key.endsWith("_ms") ? time() : positive()).exactOptional()]),
    ),
  );
}

/** `os_walls`, for all plugins or for one. */
export function osWallsSection(): z.ZodType<Partial<OsWallUses>> {
  return z.strictObject({
    ...Object.fromEntries(osWallNames.map((wall) => [wall, z.enum(["optional", "required", "off"]).exactOptional()])),
    agents: z.enum(["required", "off"]).exactOptional(),
    unknown_hosts: z.enum(["deny", "ask"]).exactOptional(),
  });
}
