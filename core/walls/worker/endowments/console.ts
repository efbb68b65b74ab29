import type { Scope } from "../scope.ts";

/** `console` that writes to the session's log, and only text. */
export function consoleEndowment(scope: Scope): Record<string, unknown> {
  const at = (level: "debug" | "info" | "warn" | "error") => (...args: unknown[]) => {
    scope.log(level, args.map(asText).join(" "));
  };
  return {
    console: {
      debug: at("debug"),
      log: at("info"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      trace: at("debug"),
    },
  };
}

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return typeof value;
  }
}
