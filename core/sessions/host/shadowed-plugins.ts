import type { Registry } from "../../packages/registry/registry.ts";
import type { SessionDeps } from "./start-session.ts";

/** Logs the plugins that are not used because another one has their id. */
export function tellShadowed({ problems }: Pick<Registry, "problems">, writeLog: SessionDeps["writeLog"]): void {
  for (const { error } of problems) {
    if (error.code === "duplicate_plugin") writeLog({ level: "warn", message: error.message });
  }
}
