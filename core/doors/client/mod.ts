/**
 * Client for programs that use a running host, or read the output of `bulkhead run --json`.
 *
 * @module
 */
export { ClientError } from "./client-error.ts";
export { finalResult, type NdjsonSource, readEvents, type ReadEventsOptions } from "./read-events.ts";
export { connectHost, type ConnectHostOptions, type RemoteHost, type RemoteReload } from "./connect-host.ts";
export { type Conversation, converse, type EndedTurn, type TalkingHost, turnsOf } from "./converse.ts";
export type { FetchLike, HttpAnswer, Throttled } from "./call-api.ts";
export type { EventFilter, RemoteEventQuery, StartOptions } from "./queries.ts";
export type { RemoteConversations } from "./remote-conversations.ts";
export type { RemoteSession } from "./remote-session.ts";
export type { RemoteWorkspaces } from "./remote-workspaces.ts";
export type {
  AppliedWorkspace,
  FolderState,
  PruneReport,
  Workspace,
  WorktreeDiff,
} from "../../../plugin-sdk/workspace.ts";
export type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
export type {
  ConversationReport,
  ConversationState,
  ConversationTurn,
  ForkRequest,
  MessageReport,
  MessageState,
  MessageTerms,
  NewMessage,
  RewindReport,
  RewindRequest,
  SaidMessage,
  TurnDiff,
} from "../../../plugin-sdk/conversation.ts";
export type { AttachmentPart, Delivery, Part, StoredAttachment } from "../../../plugin-sdk/messages.ts";
export type { Envelope } from "../../../plugin-sdk/envelope.ts";
export type { ErrorData } from "../../../plugin-sdk/errors.ts";
export type { Permissions } from "../../../plugin-sdk/permissions.ts";
export type {
  ExplainedPlugin as ExplainedRemotePlugin,
  PluginProblem as RemotePluginProblem,
  PluginReport as RemotePlugin,
} from "../../../plugin-sdk/plugin-report.ts";
export type { EventQuery, NamedCount, SessionCounts, SessionQuery } from "../../../plugin-sdk/queries.ts";
export type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
export type { Effort, SessionRequest, TurnTerms } from "../../../plugin-sdk/request.ts";
export type { SessionResult } from "../../../plugin-sdk/result.ts";
export type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
export type { BudgetReport } from "../../../plugin-sdk/budget-report.ts";
export type { UsageQuery, UsageRow } from "../../../plugin-sdk/usage-row.ts";
