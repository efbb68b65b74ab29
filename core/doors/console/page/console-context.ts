import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { type Signal, signal } from "@preact/signals";
import { AttachedFiles } from "./talk/attached-files.ts";
import { browserStorage } from "./kept-entries.ts";
import { DraftStore } from "./talk/draft-store.ts";
import { Pictures } from "./talk/pictures.ts";
import { type HostApi, type PageKey, RefusedCall } from "./api.ts";
import { LiveEvents } from "./live.ts";
import { SessionList } from "./session-list.ts";
import { FoundSessions } from "./sessions/found-sessions.ts";
import { Stopping } from "./sessions/stopping.ts";
import type { PagePlace } from "./route.ts";
import { followTheme, type PageTheme } from "./shell/theme.ts";
import { WaitingList } from "./waiting-list.ts";

/** Parts that every screen works with. */
export interface Console {
  api: HostApi;
  /** Name of this page's token, by which the host knows what it says. */
  client: string;
  /** The key with which this page calls the host. */
  key: PageKey;
  /** Rises when reads that failed start again. */
  reads: Signal<number>;
  /** Whether the page may give grants and check the journal. */
  canAdmin: boolean;
  /** Whether the page may start and control sessions, and not only look. */
  canRun: boolean;
  drafts: DraftStore;
  /** The files that a person has put to the words for a conversation, as long as the page lives. */
  attachedTo(conversationId: string): AttachedFiles;
  pictures: Pictures;
  live: LiveEvents;
  sessions: SessionList;
  /** The list of sessions as it was narrowed: it stays while a person looks at one of them. */
  found: FoundSessions;
  stopping: Stopping;
  waiting: WaitingList;
  route: Signal<PagePlace>;
  /** The last sentence for the person at the page. */
  notice: Signal<Notice | null>;
  /** Whether the desktop shows a notice of things that wait. */
  notifies: Signal<boolean>;
  theme: Signal<PageTheme>;
  /** An address that someone clicked, to show before it is opened. */
  address: Signal<string | null>;
}

/** One sentence about what was done or refused. */
interface Notice {
  text: string;
  hint?: string | undefined;
  isFailure: boolean;
  /** Whether the same may go well a moment later. */
  isPassing?: boolean;
}

const Context = createContext<Console | null>(null);

/** Gives its children the console. */
export const ConsoleProvider = Context.Provider;

/** The console of the page. */
export function useConsole(): Console {
  const found = useContext(Context);
  if (found === null) throw new Error("There is no console around this part.");
  return found;
}

/** Joins the parts of a console. */
export function createConsole({ api, key }: { api: HostApi; key: PageKey }, route: Signal<PagePlace>): Console {
  const live = new LiveEvents(api);
  const sessions = new SessionList(api, live);
  const waiting = new WaitingList(api, live);
  const pictures = new Pictures();
  const attached = new Map<string, AttachedFiles>();
  const notice = signal<Notice | null>(null);
  const reads = signal(0);
  live.opened.subscribe((count) => count > 1 && (reads.value = reads.peek() + 1));
  reads.subscribe(() => {
    if (typeof waiting.state.peek() === "object") waiting.touch();
    if (typeof sessions.state.peek() === "object") void sessions.read();
  });
  return {
    api,
    client: key.id,
    key,
    reads,
    canAdmin: key.scopes.includes("admin"),
    canRun: key.scopes.includes("run") || key.scopes.includes("admin"),
    drafts: new DraftStore(browserStorage()),
    attachedTo(conversationId) {
      const files = attached.get(conversationId) ?? new AttachedFiles({ api, pictures });
      attached.set(conversationId, files);
      return files;
    },
    pictures,
    live,
    sessions,
    found: new FoundSessions({ api, list: sessions, reads }),
    stopping: new Stopping(api, (failed, count) => {
      const told = failed.length === 0 ? null : noticeOf(failed[0]);
      notice.value = told === null
        ? { text: count === 1 ? "It is being stopped." : `${count} sessions are being stopped.`, isFailure: false }
        : { ...told, text: `${failed.length} of ${count} cannot be stopped. ${told.text}` };
    }),
    waiting,
    route,
    notice,
    notifies: signal(false),
    theme: followTheme(),
    address: signal(null),
  };
}

/** Does something for a person, and says how it went; false when the host refused. */
export async function attempt(
  { notice }: Pick<Console, "notice">,
  done: string | null,
  act: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await act();
    if (done !== null) notice.value = { text: done, isFailure: false };
    return true;
  } catch (error) {
    notice.value = noticeOf(error);
    return false;
  }
}

/** Does something for a form, which shows a refusal at its field; false when the host refused. */
export async function attemptAtField(
  refused: (error: unknown) => void,
  act: () => Promise<unknown>,
): Promise<boolean> {
  refused(null);
  try {
    await act();
    return true;
  } catch (error) {
    refused(error);
    return false;
  }
}

/** The sentence of a refusal. */
export function noticeOf(error: unknown): Notice {
  if (!(error instanceof RefusedCall)) {
    return { text: error instanceof Error ? error.message : String(error), isFailure: true };
  }
  const { message: text, hint, code, status } = error;
  // A hint for programs names a route; here a person reads.
  const isForPrograms = hint !== undefined && /\b(GET|POST|PUT|PATCH|DELETE) \/v1\//.test(hint);
  const shown = isForPrograms
    ? (code === "not_found" ? "It may have been deleted: look in the list." : undefined)
    : hint;
  return { text, hint: shown, isFailure: true, isPassing: status === 0 || status === 429 || status >= 500 };
}
