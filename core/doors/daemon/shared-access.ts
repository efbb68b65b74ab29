import type { SharedNotes } from "../../cluster/machines/shared-notes.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { Sequence } from "../../ground/platform/engine/sequence.ts";
import { openSessionOwners, type SessionOwners } from "../http/session-owners.ts";
import { isOfOneMachine, openTokens, parseToken, type TokenStore } from "../http/tokens.ts";

/** How often this machine's tokens are compared with those that the others know. Milliseconds. */
const everyMs = 1000;
/** Text that replaces a revoked token. */
const revoked = "revoked";
/** Revoked tokens that are told in one turn. */
const mostAtOnce = 200;
/** Sessions of other machines whose owners are remembered, the newest. */
const mostNoted = 50_000;

/** Characters of an owner's id. */
const mostText = 256;

/** Tokens and owners of sessions, in a cluster those of all machines. */
interface DaemonAccess {
  tokens: TokenStore;
  /** File with the token of the machine's owner. */
  tokenFile: string;
  owners: SessionOwners;
  /** Stops the exchange of tokens with other machines. */
  stopSharing(): void;
}

interface AccessOptions {
  /** Absent for a daemon that is alone. */
  notes: Pick<SharedNotes, "watch" | "set" | "caughtUp"> | undefined;
  writeLog(record: LogRecord): void;
}

/**
 * Opens the tokens and the owners that a state folder keeps.
 * @throws {BulkheadError} as {@link openTokens} and {@link openSessionOwners}
 */
export async function openAccess(stateDir: string, { notes, writeLog }: AccessOptions): Promise<DaemonAccess> {
  const tokens = openTokens(stateDir);
  const { file: tokenFile } = await tokens.first();
  const owners = await openSessionOwners(stateDir, { onProblem: (message) => writeLog({ level: "error", message }) });
  const stopNoting = noteExpired(tokens);
  if (notes === undefined) return { tokens, tokenFile, owners, stopSharing: stopNoting };
  const stopTelling = shareTokens(tokens, notes);
  const stopSharing = () => {
    stopNoting();
    stopTelling();
  };
  return { tokens, tokenFile, owners: shareOwners(owners, notes), stopSharing };
}

/** How often it is noted which tokens have expired. Milliseconds. */
const expiryMs = 60_000;

/** Notes tokens that expire while no program uses them; returns what stops it. */
function noteExpired(tokens: Pick<TokenStore, "expired">): () => void {
  let isStopped = false;
  const plan = (): () => void =>
    startBackgroundTimer(() => {
      void tokens.expired().catch(() => undefined).then(() => {
        if (!isStopped) cancel = plan();
      });
    }, expiryMs);
  let cancel = plan();
  return () => {
    isStopped = true;
    cancel();
  };
}

/** Adds the owners of the other machines' sessions, and tells the others who started one here. */
function shareOwners(own: SessionOwners, notes: Pick<SharedNotes, "watch" | "set">): SessionOwners {
  const elsewhere = new Map<string, string>();
  notes.watch({
    heard: ({ kind, name, text }) => {
      if (kind !== "owner" || own.ownerOf(name) !== undefined) return;
      if (text.length > mostText) throw new TypeError("it is no owner");
      elsewhere.set(name, text);
      const oldest = elsewhere.size > mostNoted ? elsewhere.keys().next().value : undefined;
      if (oldest !== undefined) elsewhere.delete(oldest);
    },
  });
  return {
    ownerOf: (sessionId) => own.ownerOf(sessionId) ?? elsewhere.get(sessionId),
    ownedBy: (caller) => {
      const others = [...elsewhere].filter(([id, owner]) => owner === caller.id && own.ownerOf(id) === undefined);
      return [...own.ownedBy(caller), ...others.map(([id]) => id).reverse()];
    },
    note: async (sessionId, caller) => {
      if ((own.ownerOf(sessionId) ?? elsewhere.get(sessionId)) === caller.id) return;
      await own.note(sessionId, caller);
      // The session has begun: its own machine knows its owner in any case.
      await notes.set({ kind: "owner", name: sessionId, text: caller.id }).catch(() => undefined);
    },
  };
}

/**
 * Makes the tokens of all machines the same: one that is made or revoked on any of them is so on all. Those of a
 * machine's owner and of its console's pages stay its own.
 * @returns stops it
 */
function shareTokens(
  tokens: Pick<TokenStore, "list" | "keep" | "bury" | "buried">,
  notes: Pick<SharedNotes, "watch" | "set" | "caughtUp">,
): () => void {
  /** Tokens that the others know, by id; false for a revoked one. */
  const known = new Map<string, boolean>();
  const turns = new Sequence();
  let cancel = (): void => {};
  let isStopped = false;
  const inTurn = (act: () => Promise<unknown>) => turns.run(act).catch(() => undefined);
  notes.watch({
    heard: ({ kind, name, text }) => {
      if (kind !== "token") return;
      const record = text === revoked ? null : parseToken(text);
      // What is no token revokes none.
      if (record === null && text !== revoked) throw new TypeError("it is no token");
      if (record !== null && (record.id !== name || isOfOneMachine(record))) return;
      known.set(name, record !== null);
      void inTurn(() => record === null ? tokens.bury(name) : tokens.keep(record));
    },
    // The next machine that comes must hear all again, above all what was revoked.
    lost: () => known.clear(),
  });
  const plan = (): void => {
    if (!isStopped) {
      cancel = startBackgroundTimer(() => void inTurn(() => tellChanges(known, { tokens, notes })).then(plan), everyMs);
    }
  };
  void notes.caughtUp.then(plan);
  return () => {
    isStopped = true;
    cancel();
  };
}

/** Tells the others which tokens were made and revoked here, as far as their notes do not say so. */
async function tellChanges(
  known: Map<string, boolean>,
  { tokens, notes }: { tokens: Pick<TokenStore, "list" | "buried">; notes: Pick<SharedNotes, "set"> },
): Promise<void> {
  const here = new Map((await tokens.list()).filter((record) => !isOfOneMachine(record)).map((one) => [one.id, one]));
  for (const [name, record] of here) {
    if (known.has(name)) continue;
    await notes.set({ kind: "token", name, text: JSON.stringify(record) });
    known.set(name, true);
  }
  for (const name of (await tokens.buried()).filter((id) => known.get(id) !== false).slice(-mostAtOnce)) {
    await notes.set({ kind: "token", name, text: revoked });
    known.set(name, false);
  }
}
