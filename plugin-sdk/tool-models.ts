import type { CliTool } from "./manifest.ts";

/** Returns the models of a tool, by the names clients use; undefined where it lists none. */
export function toolModels({ models }: Pick<CliTool, "models">): Readonly<Record<string, string>> | undefined {
  return Array.isArray(models) ? Object.fromEntries(models.map((model) => [model, model])) : models;
}
