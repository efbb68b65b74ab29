/**
 * Bulkhead: a plugin host for AI-agent adapters that can neither crash nor rob it.
 *
 * @module
 */
export type { CloseDeadlines } from "./host/close-host.ts";
export { createHost } from "./host/create-host.ts";
export type { LoopReport } from "./host/run-loop.ts";
export type { ParallelRun, RunAllOptions } from "./host/run-all.ts";
export type { ComparedSession, Comparison, Overlap } from "./host/compare-results.ts";
export type { Host, HostOptions, LogRecord, RunSessionOptions, Session } from "./host/host.ts";
export type { EventQuery, SessionHandle, SessionHost, SessionQuery } from "./host/session-host.ts";
export { defaultLimits, type Limits } from "./config/limits.ts";
export type { HostManifest, PluginSettings, Routing } from "./config/host-manifest.ts";
export { type DaemonSettings, defaultDaemonSettings } from "./config/daemon-settings.ts";
export { findHostManifest, loadHostManifest, parseHostManifest } from "./registry/find-host-manifest.ts";
export type { Isolation, Plugin } from "./registry/plugin.ts";
export type { RegistryChanges, RegistryProblem } from "./registry/registry.ts";
export type { RegistrySettings } from "./registry/settle-plugin.ts";
export type { Crash, CrashRecord } from "./pool/plugin-health.ts";
export type { PassedOver, Route, RouteCandidate } from "./routing/choose-route.ts";
export type { AgentsOptions, RouteOptions } from "./host/routes.ts";
export { type Signal, type SignalSample, toPrometheusText } from "./log/prometheus-text.ts";
export type { BinaryPin } from "./broker/binary-pins.ts";
export type { MissingGrant } from "./broker/session-broker.ts";
export type { RecordOptions, RecordReport } from "./host/record.ts";
export type { HostWorkspaces } from "./host/workspaces.ts";
export type { AppliedWorkspace, PruneReport, Workspace, WorktreeDiff } from "../plugin-sdk/workspace.ts";
export type { Cursor } from "./journal/journal.ts";
export { type ErrorRow, errorTable } from "./errors/error-table.ts";
export { hostVersion } from "./config/version.ts";
export { unixFetch } from "./runtime/unix-fetch.ts";
