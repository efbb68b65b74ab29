import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lockName } from "../../packages/manifest/plugin-lock.ts";
import type { Registry, RegistryProblem } from "../../packages/registry/registry.ts";
import type { SessionDeps } from "./start-session.ts";

/** Returns the problems that an operator should know: of enabled plugins, of ids used twice, and of the lock. */
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
