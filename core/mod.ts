/**
 * Bulkhead: a plugin host for AI-agent adapters that can neither crash nor rob it.
 *
 * @module
 */
export { createHost } from "./sessions/host/create-host.ts";
export type { LoopReport } from "./sessions/host/run-loop.ts";
export type { ComparedSession, Comparison, Overlap } from "./sessions/host/compare-results.ts";
export type { CloseDeadlines, Host, HostOptions, ParallelRun, RunAllOptions } from "./sessions/host/host.ts";
export type { LogRecord } from "./ground/log/log-record.ts";
export type { EventQuery, SessionQuery } from "../plugin-sdk/queries.ts";
export type {
  Conversations,
  MessageCaller,
  RunSessionOptions,
  SessionHandle,
  SessionHost,
} from "./sessions/host/session-host.ts";
export { defaultLimits, type Limits } from "./ground/config/limits.ts";
export type { HostManifest, PluginSettings, Routing } from "./ground/config/host-manifest.ts";
export { type DaemonSettings, defaultDaemonSettings } from "./ground/config/daemon-settings.ts";
export { findHostManifest, loadHostManifest, parseHostManifest } from "./packages/manifest/find-host-manifest.ts";
export type { Isolation, Plugin } from "./packages/manifest/plugin.ts";
export type { RegistryChanges, RegistryProblem } from "./packages/registry/registry.ts";
export type { RegistrySettings } from "./packages/registry/settle-plugin.ts";
export type { Crash, CrashRecord } from "../plugin-sdk/plugin-report.ts";
export type { PassedOver, Route, RouteCandidate } from "./sessions/routing/choose-route.ts";
export type { AgentsOptions, RouteOptions } from "./sessions/host/routes.ts";
export { type Signal, type SignalSample, toPrometheusText } from "./ground/log/prometheus-text.ts";
export type { BinaryPin } from "../plugin-sdk/plugin-report.ts";
export type { AskGrant, MissingGrant } from "./walls/broker/session-broker.ts";
export type { RecordOptions, RecordReport } from "./sessions/host/state/record.ts";
export type { HostWorkspaces, OwnWorkspaces } from "./sessions/host/state/workspaces.ts";
export type {
  HeldChange,
  HeldDecision,
  HeldKind,
  InstallScripts,
  SessionHeld,
  SettledHeld,
} from "../plugin-sdk/held.ts";
export type { AppliedWorkspace, FolderState, PruneReport, Workspace, WorktreeDiff } from "../plugin-sdk/workspace.ts";
export type { Cursor } from "./records/journal/journal.ts";
export { type ErrorRow, errorTable } from "./ground/errors/error-table.ts";
export { hostVersion } from "./ground/config/version.ts";
export { unixFetch } from "./ground/platform/net/unix-fetch.ts";
