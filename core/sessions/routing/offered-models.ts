import type { Manifest } from "../../../plugin-sdk/manifest.ts";

/** Models that a manifest offers, by the names clients use; empty where the adapter takes any. */
export function offeredModels({ cli, models }: Pick<Manifest, "cli" | "models">): string[] {
  return cli?.models ? Object.keys(cli.models) : models ?? [];
}
