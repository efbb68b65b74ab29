import type { Manifest } from "../../../../plugin-sdk/manifest.ts";
import { type Rule, skipped } from "../rule.ts";

/** A router sends sessions to whom it takes for available. */
export const toolMissingRule: Rule = {
  id: "tool-missing",
  title: "Without its program or server the adapter is not available and completes nothing.",
  check({ missing, scripted, manifest }) {
    if (!scripted || missing === null) return skipped("No tool is scripted.");
    const { availability, success } = missing;
    const said = typeof availability.value === "object" && availability.value !== null
      ? Reflect.get(availability.value, "availability")
      : null;
    return [
      ...(said === "available"
        ? [{ message: `Its tool was not there, and isAvailable() says available.${advice(manifest)}` }]
        : []),
      ...(success ? [{ message: "Its tool was not there, and the session completed." }] : []),
    ];
  },
};

function advice({ cli }: Manifest): string {
  return cli && !cli.version && !cli.auth ? ' Say under "version" or "auth" how to look for it.' : "";
}
