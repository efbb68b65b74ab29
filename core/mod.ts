/**
 * Bulkhead: a plugin host for AI-agent adapters that can neither crash nor rob it.
 *
 * @module
 */
export { createHost } from "./host/create-host.ts";
export type { Host, HostOptions, LogRecord, RunSessionOptions, Session } from "./host/host.ts";
export { defaultLimits, type Limits } from "./config/limits.ts";
export type { HostManifest, PluginSettings } from "./config/host-manifest.ts";
export { parseHostManifest } from "./config/parse-host-manifest.ts";
export { findHostManifest, loadHostManifest } from "./registry/find-host-manifest.ts";
export type { Isolation, Plugin } from "./registry/plugin.ts";
export type { RegistryProblem } from "./registry/registry.ts";
export type { RegistrySettings } from "./registry/settle-plugin.ts";
export type { Crash, CrashRecord } from "./pool/plugin-health.ts";
export type { MissingGrant } from "./broker/session-broker.ts";
export type { Cursor } from "./journal/journal.ts";
export { type ErrorRow, errorTable } from "./errors/error-table.ts";
export { hostVersion } from "./config/version.ts";
