import type { Registry } from "../../packages/registry/registry.ts";
import { stoppedPlugins } from "../routing/unknown-adapter.ts";
import type { SessionDeps } from "./start-session.ts";

/** Logs the plugins that are not used because another one has their id, and those that something outside of them stops. */
export function tellShadowed({ problems }: Pick<Registry, "problems">, writeLog: SessionDeps["writeLog"]): void {
  for (const { error } of problems) {
    if (error.code === "duplicate_plugin") writeLog({ level: "warn", message: error.message });
  }
  const sentences = stoppedPlugins(problems).map(({ stopped }) => [stopped?.message, stopped?.hint].filter(Boolean).join(" "));
  for (const message of new Set(sentences)) writeLog({ level: "warn", message });
}
