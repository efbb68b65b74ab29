import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { fillReferences, secretReferences } from "../../ground/config/mcp-server.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import type { Journal } from "../../records/journal/journal.ts";
import { TelemetryExport } from "../../records/telemetry/telemetry-export.ts";
import type { MergedLog } from "../session/merged-log.ts";
import type { OperatorSettings } from "./operator-settings.ts";

interface ExportTelemetryDeps {
  journal: Journal;
  log: MergedLog;
  settings: OperatorSettings;
  writeLog(record: LogRecord): void;
}

/** Sends what this host's sessions do to the collector that the operator names, if any, from now on. */
export function exportTelemetry(
  folder: string,
  { journal, log, settings, writeLog }: ExportTelemetryDeps,
): TelemetryExport {
  return new TelemetryExport({
    journal,
    newest: () => log.newest,
    file: join(folder, "telemetry.json"),
    instance: sha256Hex(folder).slice(0, 16),
    settings: () => settings.manifest?.telemetry,
    headers: ({ headers }) => filledHeaders(headers, settings),
    writeLog,
  });
}

/**
 * Fills in the secrets of headers that the operator sets.
 * @throws {BulkheadError} `env_missing` for a secret without a value, `invalid_config`, `io_error`
 */
export async function filledHeaders(
  headers: Readonly<Record<string, string>>,
  settings: Pick<OperatorSettings, "openSecrets">,
): Promise<Record<string, string>> {
  const names = new Set(Object.values(headers).flatMap(secretReferences));
  if (names.size === 0) return headers;
  const { secrets } = await settings.openSecrets({ secrets: [...names].map((name) => ({ name })) });
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, fillReferences(value, secrets) ?? missing(name, secrets)]),
  );
}

function missing(header: string, secrets: ReadonlyMap<string, string>): never {
  throw new BulkheadError("env_missing", `A secret in the header ${header} has no value.`, {
    hint: "Set it: bulkhead secret set NAME.",
    details: { header, known: [...secrets.keys()] },
  });
}
