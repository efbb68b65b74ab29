export {
  type AccessMode,
  accessModeSchema,
  type AccessModeStatus,
  accessModeStatusSchema,
  type ApiAccess,
  type LocalAccess,
  type Pricing,
  type QuotaWindow,
  type RateLimits,
  type SubscriptionAccess,
} from "./access-modes.ts";
export { type AcpText, type AcpUpdate, toAcpUpdate } from "./acp-update.ts";
export {
  type AdapterClass,
  type AdapterDefinition,
  type AdapterEvents,
  AgentAdapter,
  defineAdapter,
  requiredMembers,
} from "./adapter.ts";
export {
  type ArgumentPattern,
  type ArgumentPiece,
  type ArgumentSlot,
  formatArgumentPattern,
  matchesArguments,
  parseArgumentPattern,
} from "./argument-pattern.ts";
export type { AgentReport } from "./agent-report.ts";
export {
  availabilities,
  type Availability,
  type AvailabilityReport,
  availabilityReportSchema,
  type HealthStatus,
  healthStatusSchema,
} from "./availability.ts";
export { BatchQueue } from "./batch-queue.ts";
export { type AgentCapabilities, agentCapabilitiesSchema, capabilityFlags } from "./capabilities.ts";
export { checkMappingRules, type RuleFaultDetails } from "./check-mapping-rules.ts";
export { CliAdapter, type ParsedLine, requiredCliMembers } from "./cli-adapter.ts";
export type { CliTalk } from "./cli-talk.ts";
export { type TalkInTurns, talkInTurns } from "./cli-turns.ts";
export type { AuthStatus } from "./cli-availability.ts";
export {
  askVersion,
  type CliCommand,
  type CollectedOutput,
  collectOutput,
  feedStdin,
  leaveStream,
  startCommand,
} from "./cli-command.ts";
export { CliEnding } from "./cli-ending.ts";
export { cliTool, type Normaliser } from "./cli-tool.ts";
export {
  type ArgumentGroup,
  argumentPatterns,
  type CommandTemplate,
  type CommandTemplateOptions,
  fillCommandTemplate,
  type FilledCommand,
  parseArguments,
  parseCommandTemplate,
  type TemplatePiece,
  type TemplatePlaceholder,
  templatePlaceholders,
  type TemplateValues,
} from "./command-template.ts";
export type {
  AdapterContext,
  AdapterLog,
  AgentConfig,
  AttachmentAccess,
  Connection,
  ConnectOptions,
  FetchOptions,
  FetchResponse,
  FileAccess,
  FileInfo,
  KeyValueStore,
  ProcessExit,
  RunningProcess,
  RunOptions,
  TempFiles,
} from "./context.ts";
export { envReferences, expandEnv } from "./env-template.ts";
export { ToolOutput } from "./error-output.ts";
export { type BackgroundTask, OpenWork } from "./open-work.ts";
export {
  type ArtifactsEvent,
  type AttemptFailedEvent,
  type AttemptStartedEvent,
  type CapabilityEvent,
  type Envelope,
  type FallbackEvent,
  type Follows,
  type GapEvent,
  type GitEvent,
  type HeldEvent,
  type HostEvent,
  hostEventTypes,
  type Memory,
  type MessageAcceptedEvent,
  type MessageChangedEvent,
  type MessageDeliveredEvent,
  type MessageDroppedEvent,
  type MessageSentEvent,
  type ModelCallEvent,
  type PermissionResolvedEvent,
  type ProcessExitedEvent,
  type ProcessSpawnedEvent,
  type QueuedEvent,
  type RewoundEvent,
  type SessionEndedEvent,
  type SessionStartedEvent,
  type TurnEndedEvent,
  type TurnStartedEvent,
  type WorkerEvent,
} from "./envelope.ts";
export type { GitChange } from "./git-changes.ts";
export {
  AdapterInitializationError,
  BulkheadError,
  type BulkheadErrorOptions,
  type ErrorCode,
  errorCodes,
  type ErrorData,
  errorDataOf,
  errorFromData,
  InvalidModelError,
  isErrorCode,
} from "./errors.ts";
export {
  type AdapterEvent,
  adapterEventSchema,
  adapterEventSchemas,
  type AdapterEventType,
  adapterEventTypes,
  type AgentEndedEvent,
  type AgentInfoEvent,
  type AgentStartedEvent,
  type CompletedEvent,
  type ErrorEvent,
  type FileChangeEvent,
  type Json,
  type MessageEvent,
  type OutputEvent,
  type PermissionOption,
  type PermissionRequestEvent,
  type PlanEntry,
  type PlanEvent,
  type ProgressEvent,
  type QuestionEvent,
  type RateLimitEvent,
  type RequestWithdrawnEvent,
  type ThinkingEvent,
  type ToolCallEvent,
  type ToolResultEvent,
  type TurnBeganEvent,
  type UnparsedEvent,
  type UsageEvent,
} from "./events.ts";
export { healthOf } from "./health-of.ts";
export { readPath } from "./json-path.ts";
export { JsonRpcPeer, rpcCodes, RpcError } from "./json-rpc-peer.ts";
export { mapJson, mapJsonLine, MappingMemory } from "./jsonl-mapping.ts";
export { splitLines, type SplitLinesOptions } from "./lines.ts";
export { manifestJsonSchema } from "./manifest-json-schema.ts";
export {
  type CliTool,
  cliToolSchema,
  type ConfigSchema,
  contractVersion,
  type ExitMeaning,
  type FailureMeaning,
  type FieldSchema,
  idPattern,
  type ItemSchema,
  type JsonLines,
  type Manifest,
  manifestSchema,
  type OptionSchema,
} from "./manifest.ts";
export type { Condition, Conditions, LastWord, MappingRule, Scalar, ValueTest } from "./mapping-rule.ts";
export { mcpConfigFile, mcpServerList } from "./mcp-config.ts";
export { mergeStreams } from "./merge-streams.ts";
export { type ChatMessage, modelTurns } from "./model-turns.ts";
export { type AttachedPart, attachedParts, attachedText, unreadFile } from "./attached-parts.ts";
export type { AttachmentPart, Delivery, Part, StoredAttachment } from "./messages.ts";
export { type NeutralKind, neutralKind, neutralKind as normalise, neutralKinds } from "./normalise.ts";
export { compareAccessModes, orderAccessModes } from "./order-access-modes.ts";
export { PermissionAnswers } from "./permission-answers.ts";
export {
  type PermissionLimits,
  type Permissions,
  permissionsSchema,
  type RunPermission,
  type SecretPermission,
} from "./permissions.ts";
export {
  defaultRateLimitPatterns,
  RateLimitDetector,
  type RateLimitDetectorOptions,
  type RateLimitPattern,
} from "./rate-limit.ts";
export { readLines, type ReadLinesOptions, type ShownLine } from "./read-lines.ts";
export { nearestEffort } from "./nearest-effort.ts";
export {
  type Approval,
  type Budget,
  type Effort,
  efforts,
  type SessionRequest,
  sessionRequestSchema,
  type TurnTerms,
} from "./request.ts";
export {
  type Artifact,
  type AttemptReport,
  type HostUses,
  type Outcome,
  outcomeOf,
  type PermissionUses,
  type Provenance,
  type SessionResult,
  type StopReason,
  stopReasons,
  type UsageBasis,
  type UsageReport,
  type WireUsage,
} from "./result.ts";
export type { Turn, TurnMessage } from "./turns.ts";
export { untilAborted } from "./until-aborted.ts";
export type { BudgetReport } from "./budget-report.ts";
export type { UsageQuery, UsageRow } from "./usage-row.ts";
export { SessionCounter, type UsageCounts } from "./session-counter.ts";
export type { GrantsInForce, RecordedAttempt, RecordedChild, SessionHistory } from "./session-history.ts";
export type { HeldChange, HeldDecision, HeldKind, InstallScripts, SessionHeld, SettledHeld } from "./held.ts";
export type {
  AppliedWorkspace,
  FolderState,
  PruneReport,
  Workspace,
  WorkspaceState,
  WorktreeDiff,
} from "./workspace.ts";
export type { SessionState, SessionSummary, WaitingRequest } from "./session-summary.ts";
export type { SchemaOf } from "./schema.ts";
export {
  countOf,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  listOf,
  numberOf,
  objectsOf,
  parseJson,
  parseJsonLine,
  stringOf,
  textOf,
  withoutControls,
} from "./json-fields.ts";
export { requestIn, type SchemaDialect } from "./output-schema.ts";
export { isWords, jsonLineEvents, tooLargeLine } from "./json-line-events.ts";
export { type ToolKind, toolKinds } from "./tool-kinds.ts";
export { workOf } from "./work-of.ts";
export { SseReader } from "./sse-reader.ts";
export { TextTail } from "./text-tail.ts";
