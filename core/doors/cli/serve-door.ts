import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { ByteWire } from "../../ground/checks/json-wire.ts";
import type { Conversations, SessionDiffs, SessionHost } from "../../sessions/host/session-host.ts";
import type { Invocation } from "./command.ts";
import { watchInterrupts } from "./interrupts.ts";
import type { OpenedSessions } from "./open-sessions.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Collaborators of a door on standard input and output. */
interface DoorDeps {
  sessions: SessionHost;
  workspaces: SessionDiffs;
  wire: ByteWire;
  /** Aborts when the program is told to end. */
  signal: AbortSignal;
}

/** How long the program that started this one may leave unread what it asked for. Milliseconds. */
const stallMs = 30_000;

/**
 * Serves a door to the program that started this one, until it goes away.
 * @throws {BulkheadError} `timeout` when it has stopped reading
 */
export async function serveDoor(
  call: Invocation,
  { protocol, serve }: { protocol: string; serve(deps: DoorDeps): Promise<void> },
): Promise<number> {
  const { terminal } = call;
  if (terminal.stdin.isTty) {
    await terminal.stderr.write(
      `This speaks the ${protocol} on standard input and output: it is for programs to start, not for people.\n`,
    );
  }
  using interrupts = watchInterrupts(terminal, { note: null });
  terminal.stdout.giveUpAfter(stallMs);
  const openings: ReturnType<typeof open>[] = [];
  const { sessions, workspaces } = lazySessions(() => {
    const opening = open(call);
    openings.push(opening);
    return opening;
  });
  try {
    const wire = { input: terminal.stdin.chunks(), write: (text: string) => terminal.stdout.write(text) };
    await serve({ sessions, workspaces, wire, signal: interrupts.signal });
  } finally {
    // The caller has already got the error.
    for (const opened of await Promise.allSettled(openings)) {
      if (opened.status === "fulfilled") await opened.value[Symbol.asyncDispose]();
    }
  }
  const { closed } = terminal.stdout;
  if (closed.reason instanceof BulkheadError) throw closed.reason;
  return 0;
}

async function open(call: Invocation): Promise<Pick<OpenedSessions, "sessions" | "workspaces"> & AsyncDisposable> {
  // It brings the host along, which a client does not wait for.
  const { openSessions } = await import("./open-sessions.ts");
  return await openSessions(call);
}

/** Sessions of a host and their changes. */
interface DoorSessions {
  sessions: SessionHost;
  workspaces: SessionDiffs;
}

/** Opens a host at its first use: a door answers its client before that. */
function lazySessions(open: () => Promise<DoorSessions>): DoorSessions {
  let opening: Promise<DoorSessions> | null = null;
  const openedOnce = (): Promise<DoorSessions> => {
    opening ??= open();
    // Try again at the next use: the cause may be fixed by now.
    opening.catch(() => (opening = null));
    return opening;
  };
  const opened = async () => (await openedOnce()).sessions;
  const sessions: SessionHost = {
    start: async (request, options) => await (await opened()).start(request, options),
    list: async (query) => await (await opened()).list(query),
    count: async (query) => await (await opened()).count(query),
    get: async (sessionId) => await (await opened()).get(sessionId),
    history: async (sessionId) => await (await opened()).history(sessionId),
    open: async (sessionId) => await (await opened()).open(sessionId),
    delete: async (sessionId) => await (await opened()).delete(sessionId),
    agents: async (options) => await (await opened()).agents(options),
    attach: async (content, options) => await (await opened()).attach(content, options),
    conversations: lazyConversations(async () => (await opened()).conversations),
    usage: async (query) => await (await opened()).usage(query),
    budgets: async () => await (await opened()).budgets(),
    events: (query) => eventsOf(opened, query),
  };
  return { sessions, workspaces: { diff: async (sessionId) => await (await openedOnce()).workspaces.diff(sessionId) } };
}

function lazyConversations(opened: () => Promise<Conversations>): Conversations {
  return {
    say: async (id, message, caller) => await (await opened()).say(id, message, caller),
    messages: async (id, query) => await (await opened()).messages(id, query),
    edit: async (id, messageId, content) => await (await opened()).edit(id, messageId, content),
    withdraw: async (id, messageId) => await (await opened()).withdraw(id, messageId),
    stop: async (id, options) => await (await opened()).stop(id, options),
    rewind: async (id, request, caller) => await (await opened()).rewind(id, request, caller),
    fork: async (id, request, caller) => await (await opened()).fork(id, request, caller),
    turnDiff: async (id, turn) => await (await opened()).turnDiff(id, turn),
    get: async (id) => await (await opened()).get(id),
    async *events(id, query) {
      yield* (await opened()).events(id, query);
    },
  };
}

async function* eventsOf(
  opened: () => Promise<SessionHost>,
  query: Parameters<SessionHost["events"]>[0],
): AsyncGenerator<Envelope, void, void> {
  yield* (await opened()).events(query);
}
