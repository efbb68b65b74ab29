import type { Registry } from "../../packages/registry/registry.ts";
import { stoppedPlugins } from "../routing/unknown-adapter.ts";
import type { SessionDeps } from "./start-session.ts";

/** Logs the plugins that are not used because another one has their id, and those that something outside of them stops. */
export function tellShadowed({ problems }: Pick<Registry, "problems">, writeLog: SessionDeps["writeLog"]): void {
  for (const { error } of problems) {
    if (error.code === "duplicate_plugin") writeLog({ level: "warn", message: error.message });
  }
  const stopped = stoppedPlugins(problems).flatMap(({ stopped }) => stopped ?? []);
  const sentences = stopped.map(({ message, hint }) => hint === undefined ? message : `${message} ${hint}`);
  for (const message of new Set(sentences)) writeLog({ level: "warn", message });
}
