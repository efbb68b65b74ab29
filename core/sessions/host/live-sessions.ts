import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { ListedFacts, WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { ContextFile } from "../../ground/prompt/enhance-prompt.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { markOf } from "../../ground/platform/files/file-mark.ts";
import { join } from "../../ground/platform/files/paths.ts";
import type { RunningSession } from "../session/running-session.ts";
import type { Admitted, Candidate, SessionPlace } from "../session/admitted.ts";
import type { SessionMessage } from "../session/session-turns.ts";
import { pathsOverlap, SharedWorkdirs } from "../session/shared-workdirs.ts";
import { onceFor } from "../session/subscription.ts";
import type { Workspaces } from "../../records/workspace/workspaces.ts";
import type { CarriedAttachments } from "./attachments/carried-attachments.ts";
import { checkHere, checkWorkdir } from "./check-request.ts";
import { readContextFiles } from "./context-files.ts";
import type { RunSessionOptions } from "./session-host.ts";
import { type Routes, waysOf } from "./routes.ts";
import type { ServedPlugin } from "./served-plugin.ts";
import { admit, allowedIn, type LiveStartOptions, type SessionDeps, startSession } from "./start-session.ts";
import { Neighbours } from "./neighbours.ts";
import type { SessionSlots } from "./host-seams.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import type { Workspace } from "../../../plugin-sdk/workspace.ts";
import { type PlaceOptions, placeSession } from "./state/workspaces.ts";
import { noTurns } from "./talk/candidate-requests.ts";

interface LiveSessionsDeps extends SessionDeps {
  routes: Routes;
  workspaces: Workspaces;
  /** @throws {BulkheadError} `unknown_adapter` */
  serviceOf(adapter: string): ServedPlugin;
  /** Counts the sessions of several hosts. */
  slots?: SessionSlots | undefined;
  carried: Pick<CarriedAttachments, "keepFor">;
}

/** Begins a session's next one with messages that it has not delivered; returns its id. */
type MessageMover = (live: LiveSession, messages: SessionMessage[]) => string;

/** One session that has not ended. */
export interface LiveSession {
  id: string;
  session: RunningSession;
  admitted: Pick<Admitted, "request" | "candidates" | "follows" | "place" | "artifacts">;
  /** Resolves once the session has also left its place. */
  result: Promise<SessionResult>;
  /** Returns the subscription from before the session began, to the first who asks for all events; else null. */
  firstReader(query: EventQuery): AsyncIterable<Envelope> | null;
}

/** The sessions of one host that have not ended. */
export class LiveSessions {
  readonly #deps: LiveSessionsDeps;
  readonly #running = new Map<string, LiveSession>();
  /** Sessions that have not left their place yet, ended or not. */
  readonly #placed = new Map<string, LiveSession>();
  /** Sessions from the call that starts them until they have left their place. */
  readonly #begun = new Set<Promise<SessionResult>>();
  readonly #shared = new SharedWorkdirs();
  readonly #neighbours: Neighbours;
  #move: MessageMover = () => randomId();
  #closed = false;

  constructor(deps: LiveSessionsDeps) {
    this.#deps = deps;
    this.#neighbours = new Neighbours(join(deps.claim.root, "active"), deps.claim);
  }

  /** Number of sessions under way, including those that wait. */
  get size(): number {
    return this.#running.size;
  }

  /** Returns what the sessions wait for, by session; only those that wait. */
  waiting(): Record<string, WaitingRequest[]> {
    const all = [...this.#running].map(([id, { session }]) => [id, session.waiting] as const);
    return Object.fromEntries(all.filter(([, requests]) => requests.length > 0));
  }

  /** Returns what each session does now, by session. */
  facts(): Record<string, ListedFacts> {
    return Object.fromEntries([...this.#running].map(([id, { session }]) => [id, session.facts]));
  }

  isRunning(sessionId: string): boolean {
    return this.#running.has(sessionId);
  }

  /** Returns a session that has not ended; undefined for any other. */
  find(sessionId: string): LiveSession | undefined {
    return this.#running.get(sessionId);
  }

  /** Gives messages of a session that ends with them to its conversation from now on. */
  moveMessagesBy(move: MessageMover): void {
    this.#move = move;
  }

  /** Returns the newest session of a conversation that has not ended. */
  ofConversation(id: string): LiveSession | undefined {
    return [...this.#running.values()].findLast((live) => conversationOf(live) === id);
  }

  /**
   * Starts a session.
   * @throws {BulkheadError} as `Host.runSession`
   */
  start(request: SessionRequest, options: RunSessionOptions, terms: LiveStartOptions = {}): Promise<LiveSession> {
    const starting = this.#start(request, options, terms);
    const over = starting.then(({ result }) => result).finally(() => this.#begun.delete(over));
    over.catch(() => undefined);
    this.#begun.add(over);
    return starting;
  }

  /** Resolves when every session that has begun until now, or is about to begin, has ended and left its place. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#begun]);
  }

  async #start(
    request: SessionRequest,
    options: RunSessionOptions,
    { begins, ...terms }: LiveStartOptions,
  ): Promise<LiveSession> {
    const { signal } = options;
    const admitted = await this.#admit(request, options, terms);
    const { sessionId, place } = admitted;
    const { kept } = this.#deps;
    const events = this.#deps.log.subscribe({ sessionId });
    let session: RunningSession;
    let giveBack = (): void => {};
    try {
      await this.#enter(admitted);
      giveBack = await this.#takeSlot(admitted.candidates[0], signal);
      await begins?.(sessionId);
      const { content = [] } = admitted.request;
      await this.#deps.attachments.name(sessionId, content, options);
      this.#deps.carried.keepFor(sessionId, admitted.request, content);
      const manifestMark = await this.#manifestMark();
      session = startSession(this.#deps, admitted, {
        sharedWith: () => this.#sharedWith(admitted),
        termsChanged: (candidate) => this.#termsChanged(candidate, { admitted, manifestMark }),
        moveMessages: (messages) => this.#move(this.#running.get(sessionId)!, messages),
        keep: (one) => kept.enter(one),
      });
    } catch (error) {
      giveBack();
      events.settle();
      await this.#leave(admitted);
      await place.abandon();
      throw error;
    }
    session.result.catch((error: unknown) => events.fail(error)).finally(() => events.settle());
    atEnd(session, giveBack);
    const { share } = admitted;
    // Until its end can be read.
    if (share !== null) atEnd(session, () => this.#deps.log.written().then(share.close, share.close));
    interruptBy(signal, session);
    return this.#keep(session, admitted, onceFor(events));
  }

  /** Checks a request, chooses the candidates that may run it, and gives it a place. */
  async #admit(
    request: SessionRequest,
    options: RunSessionOptions,
    { resumed = null, follows = null, recalled = noTurns, filesOf, placeOf, record }: Omit<LiveStartOptions, "begins">,
  ): Promise<Admitted> {
    const { signal, artifacts = "git", client, sessionId = randomId(), ...wanted } = options;
    const { health, routes, serviceOf } = this.#deps;
    this.#refuseIfClosed();
    await health.demand("Cannot start a session");
    const checked = await this.#checkContent(checkHere(request), { options, isChecked: follows !== null });
    const route = await routes.route({ request: checked, ...wanted });
    const ways = waysOf(route).map((way) => ({ way, service: serviceOf(way.adapter_id) }));
    const { workdir, contextFiles } = await this.#readWorkdir(checked, ways[0]!.service.plugin.limits);
    // A worktree is free once the session before has left it, which is a moment after its end.
    if (follows !== null) await this.left(placeOf ?? follows.session_id);
    const place = await this.#place(sessionId, { request: checked, follows, filesOf, placeOf, workdir, signal });
    const chosen = { ways, passedOver: route.passed_over, chain: routes.chain(wanted), record };
    try {
      return await admit(this.#deps, {
        ...chosen,
        sessionId,
        client,
        request: checked,
        place,
        contextFiles,
        artifacts,
        resumed,
        follows,
        recalled,
      });
    } catch (error) {
      await place.abandon();
      throw error;
    }
  }

  /** Checks the attachments of a request. A conversation has checked those of its message. */
  async #checkContent(
    request: SessionRequest,
    { options, isChecked }: { options: RunSessionOptions; isChecked: boolean },
  ): Promise<SessionRequest> {
    if (request.content === undefined || isChecked) return request;
    return { ...request, content: await this.#deps.attachments.check(request.content, options) };
  }

  /** Checks the working directory that a request names, and reads the files of it that belong to the prompt. */
  async #readWorkdir(
    { workdir: named, context_files = [] }: SessionRequest,
    limits: Limits,
  ): Promise<{ workdir: string; contextFiles: readonly ContextFile[] }> {
    const { closedFolders, protectedPaths } = this.#deps.guarded();
    const workdir = await checkWorkdir(named, closedFolders);
    return { workdir, contextFiles: await readContextFiles(context_files, { workdir, protectedPaths, limits }) };
  }

  /** Has every session end with its turn and the messages that wait. */
  retire(): void {
    for (const { session } of this.#running.values()) session.talk.retire();
  }

  /** Stops all sessions and starts no more. Settles when all have left, which may never happen. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { session } of this.#running.values()) session.stop("interrupted", "The host is shutting down.");
    await this.ended();
  }

  /** Resolves when a session whose last event is written has also left its place; at once for any other. */
  async left(sessionId: string): Promise<void> {
    const placed = this.#placed.get(sessionId);
    if (placed?.session.isOver) await placed.result.catch(() => undefined);
  }

  /** Returns the ids of the sessions at work in a folder, or in one that overlaps it; those of other hosts as well. */
  async workingIn(workdir: string): Promise<string[]> {
    const here = [...this.#placed.values()].filter(({ admitted }) => pathsOverlap(admitted.place.workdir, workdir));
    return [...here.map(({ id }) => id), ...await this.#neighbours.othersIn(workdir)];
  }

  /** Returns the ids of the sessions that have shared the folder of one that has not ended, until now. */
  sharedWith({ id, admitted }: LiveSession): Promise<string[]> {
    return this.#sharedWith({ sessionId: id, ...admitted });
  }

  /** Ends the session that is kept in a worktree, in order; one that works in it goes on. */
  async endKept({ folder }: Pick<Workspace, "folder">): Promise<void> {
    const live = [...this.#placed.values()].find(({ admitted: { place } }) => place.workspaceDir === folder);
    if (live === undefined || live.session.talk.current !== null) return;
    live.session.talk.retire();
    await live.result.catch(() => undefined);
  }

  async #place(
    sessionId: string,
    { signal, filesOf, ...placed }:
      & Pick<PlaceOptions, "request" | "follows" | "placeOf" | "workdir" | "signal">
      & Pick<LiveStartOptions, "filesOf">,
  ): Promise<SessionPlace> {
    const { checkpointsDir, claim, settings, writeLog, workspaces } = this.#deps;
    try {
      return await placeSession(workspaces, {
        ...placed,
        filesOf: filesOf && { ...filesOf, folder: checkpointsDir },
        sessionId,
        exclude: [claim.root, ...settings.secretPaths],
        manifest: settings.manifest,
        signal,
        onProblem: (message) => writeLog({ level: "warn", message }),
        onCopy: ({ files, bytes, largest }) =>
          writeLog({
            level: "info",
            message:
              `Session ${sessionId} copies ${bytes} bytes in ${files} files that are in no commit, "${largest.path}" the largest.`,
          }),
      });
    } catch (error) {
      refuseIfAborted(signal);
      throw error;
    }
  }

  #keep(session: RunningSession, admitted: Admitted, firstReader: LiveSession["firstReader"]): LiveSession {
    const { sessionId, place, candidates: [{ load }] } = admitted;
    load.sessions++;
    atEnd(session, () => {
      this.#running.delete(sessionId);
      load.sessions--;
    });
    const result = place.leave(session.result).finally(() => this.#leave(admitted));
    const live: LiveSession = { id: sessionId, session, admitted, result, firstReader };
    this.#running.set(sessionId, live);
    const left = () => this.#placed.delete(sessionId);
    this.#placed.set(sessionId, live);
    result.then(left, left);
    return live;
  }

  /** Whether a session's terms are no longer those of its start: its plugin, what that may do, or the host manifest. */
  async #termsChanged(
    { plugin, effective, request }: Candidate,
    { admitted, manifestMark }: { admitted: Admitted; manifestMark: string | null },
  ): Promise<boolean> {
    const service = this.#deps.serviceOf(plugin.id);
    if (service.plugin !== plugin || await this.#manifestMark() !== manifestMark) return true;
    const { effective: now } = await allowedIn(this.#deps, { service, request, workdir: admitted.place.workdir });
    return JSON.stringify(now) !== JSON.stringify(effective);
  }

  async #manifestMark(): Promise<string | null> {
    const file = this.#deps.settings.manifest?.file;
    return file === undefined ? null : await markOf([file]);
  }

  /** Without artifacts the list of neighbours is not needed; a worktree belongs to its session alone. */
  async #enter({ sessionId, place, artifacts }: Admitted): Promise<void> {
    this.#shared.enter(sessionId, place.workdir);
    if (artifacts === "git") await this.#neighbours.enter(sessionId, place.workdir);
  }

  async #sharedWith({ sessionId, artifacts }: Pick<Admitted, "sessionId" | "artifacts">): Promise<string[]> {
    const here = this.#shared.sharedWith(sessionId);
    if (artifacts === "none") return here;
    return [...new Set([...here, ...await this.#neighbours.metBy(sessionId)])].sort();
  }

  async #leave({ sessionId, artifacts }: Admitted): Promise<void> {
    this.#shared.leave(sessionId);
    if (artifacts === "git") await this.#neighbours.leave(sessionId);
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new BulkheadError("host_closed", "The host is shutting down.");
  }

  /** Takes a slot for a session that is about to begin; the function it gives returns the slot. */
  async #takeSlot(first: Candidate, signal: AbortSignal | undefined): Promise<() => void> {
    const { settings, slots } = this.#deps;
    const giveBack = await slots?.take(settings.limits.host_sessions) ?? (() => {});
    try {
      this.#refuseIfClosed();
      refuseIfAborted(signal);
      this.#refuseIfFull(first);
      return giveBack;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  #refuseIfFull({ plugin, load: { sessions } }: Candidate): void {
    const { id, limits } = plugin;
    const { kept } = this.#deps;
    // One that is kept makes room as soon as a session needs its place.
    if (sessions - kept.count(id) >= limits.sessions) {
      throw new BulkheadError("busy", `Plugin "${id}" has ${limits.sessions} sessions, running and waiting, already.`, {
        hint: "Try again later, or raise its limit sessions.",
      });
    }
    const { host_sessions } = this.#deps.settings.limits;
    if (this.#running.size - kept.count() < host_sessions) return;
    throw new BulkheadError("busy", `The host has ${this.#running.size} sessions, running and waiting, already.`, {
      hint: "Try again later, or raise the limit host_sessions.",
    });
  }
}

/** Returns the id of a session's conversation. */
export function conversationOf({ id, admitted: { follows } }: Pick<LiveSession, "id" | "admitted">): string {
  return follows?.conversation_id ?? id;
}

function refuseIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new BulkheadError("interrupted", "The session was interrupted before it started.");
}

/** Calls back once the session has ended, well or not. */
function atEnd({ result }: RunningSession, callback: () => void): void {
  result.then(callback, callback);
}

function interruptBy(signal: AbortSignal | undefined, session: RunningSession): void {
  const interrupt = () => session.stop("interrupted", "The session was interrupted.");
  signal?.addEventListener("abort", interrupt, { once: true });
  atEnd(session, () => signal?.removeEventListener("abort", interrupt));
}
