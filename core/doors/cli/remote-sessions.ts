import { type ErrorData, errorFromData, isErrorCode } from "../../../plugin-sdk/errors.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { FetchLike } from "../client/call-api.ts";
import { ClientError } from "../client/client-error.ts";
import { connectHost, type ConnectHostOptions, type RemoteHost } from "../client/connect-host.ts";
import type { RemoteSession } from "../client/remote-session.ts";
import type { DaemonRecord } from "../daemon/daemon-record.ts";
import { commandHints } from "../http/problem.ts";
import type { Conversations, SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";
import { readFile, stat } from "../../ground/platform/files/files.ts";
import type { HostWorkspaces } from "../../sessions/host/state/workspaces.ts";
import { mayOpenSockets } from "../../ground/platform/processes/own-command.ts";
import { unixCall } from "../../ground/platform/net/unix-fetch.ts";

/** Connects to a daemon with the first token: over its socket, else over TCP. */
export async function connectDaemon(
  { socket, address, token_file }: DaemonRecord,
  options: Pick<ConnectHostOptions, "onLost" | "onThrottled"> = {},
): Promise<RemoteHost> {
  // The system clears the runtime folder at logout, which a daemon may outlive.
  const isThere = socket !== null && (await stat(socket).then(() => true, () => false));
  const token = (await readFile(token_file, "utf8").catch(() => "")).trim();
  if (isThere && mayOpenSockets()) {
    return connectHost({ fetch: askingForCommands(unixCall(socket)), token, proof: "once", ...options });
  }
  return connectHost({ url: address, token, fetch: askingForCommands(fetch), proof: "each", ...options });
}

/** Makes the daemon's hints name commands: a person at a terminal reads them. */
function askingForCommands(fetch: FetchLike): FetchLike {
  return (url, init) => {
    // The client's headers are an object of texts.
    return fetch(url, { ...init, headers: { ...init.headers as Record<string, string>, prefer: commandHints } });
  };
}

/** Adapts a daemon's sessions to {@link SessionHost}, with our errors. */
export function remoteSessions(remote: RemoteHost): SessionHost {
  return {
    start: (request, { adapter, require, artifacts, signal } = {}) =>
      ours(remote.start(request, { adapter, require, artifacts, signal }).then(handleOf)),
    list: (query) => ours(remote.list(query)),
    count: (query) => ours(remote.count(query)),
    get: (sessionId) => ours(remote.get(sessionId)),
    history: (sessionId) => ours(remote.history(sessionId)),
    open: (sessionId) => ours(remote.open(sessionId).then(handleOf)),
    delete: (sessionId) => ours(remote.delete(sessionId)),
    agents: (options) => ours(remote.agents(options)),
    attach: (content) => ours(remote.attach(content)),
    conversations: ourConversations(remote),
    usage: (query) => ours(remote.usage(query)),
    budgets: () => ours(remote.budgets()),
    events: (query) => oursIn(remote.events(query)),
  };
}

function ourConversations({ conversations }: RemoteHost): Conversations {
  return {
    say: (id, message) => ours(conversations.say(id, message)),
    messages: (id, query) => ours(conversations.messages(id, query)),
    edit: (id, messageId, content) => ours(conversations.edit(id, messageId, content)),
    withdraw: (id, messageId) => ours(conversations.withdraw(id, messageId)),
    stop: (id, options) => ours(conversations.stop(id, options)),
    rewind: (id, request) => ours(conversations.rewind(id, request)),
    fork: (id, request) => ours(conversations.fork(id, request)),
    turnDiff: (id, turn) => ours(conversations.turnDiff(id, turn)),
    get: (id) => ours(conversations.get(id)),
    events: (id, query) => oursIn(conversations.events(id, query)),
  };
}

/** Adapts the worktrees of a daemon's sessions likewise. */
export function ourWorkspaces({ workspaces }: Pick<RemoteHost, "workspaces">): HostWorkspaces {
  return {
    list: () => ours(workspaces.list()),
    folderState: (workdir) => ours(workspaces.folderState(workdir)),
    diff: (sessionId) => ours(workspaces.diff(sessionId)),
    apply: (sessionId, options) => ours(workspaces.apply(sessionId, options)),
    held: () => ours(workspaces.held()),
    settleHeld: (sessionId, decision) => ours(workspaces.settleHeld(sessionId, decision)),
    discard: (sessionId) => ours(workspaces.discard(sessionId)),
    prune: (options) => ours(workspaces.prune(options)),
  };
}

function handleOf(session: RemoteSession): SessionHandle {
  return {
    id: session.id,
    events: (query) => oursIn(session.events(query)),
    result: () => ours(session.result()),
    interrupt: () => ours(session.interrupt()),
    answer: (requestId, choice) => ours(session.answer(requestId, choice)),
  };
}

/** Awaits work; turns a client's error into the error that the daemon reported. */
export async function ours<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw ourError(error);
  }
}

async function* oursIn(events: AsyncIterable<Envelope>): AsyncGenerator<Envelope, void, void> {
  try {
    yield* events;
  } catch (error) {
    throw ourError(error);
  }
}

function ourError(error: unknown): unknown {
  if (!(error instanceof ClientError)) return error;
  const { code, message, hint, details } = error;
  // A daemon of another version may have other codes.
  const known = isErrorCode(code);
  const data: ErrorData = {
    code: known ? code : "protocol_violation",
    message: known
      ? message
      : `The daemon reports an error of a kind that is not known here (${String(code)}): ${message}`,
    ...omitUndefined({ hint, details }),
  };
  return errorFromData(data);
}
