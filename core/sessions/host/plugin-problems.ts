import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lockName } from "../../packages/manifest/plugin-lock.ts";
import type { Registry, RegistryProblem } from "../../packages/registry/registry.ts";
import type { SessionDeps } from "./start-session.ts";

/**
 * Returns why plugins cannot be used, as far as an operator should know: one that is enabled, one whose id another has,
 * and the lock. A broken folder that is not enabled is no news.
 */
export function toldProblems(problems: readonly RegistryProblem[]): BulkheadError[] {
  const told = problems.filter(({ id, error, unavailable }) =>
    unavailable || error.code === "duplicate_plugin" || id === lockName
  );
  return [...new Map(told.map(({ error }) => [error.message, error])).values()];
}

/** Logs the plugins that cannot be used. */
export function tellProblems({ problems }: Pick<Registry, "problems">, writeLog: SessionDeps["writeLog"]): void {
  for (const { code, message, hint } of toldProblems(problems)) {
    const help = hint === undefined || code === "duplicate_plugin" ? "" : ` ${hint}`;
    writeLog({ level: "warn", message: `${message.replaceAll("\n", "; ")}${help}` });
  }
}
