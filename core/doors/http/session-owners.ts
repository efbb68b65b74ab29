import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { appendFile, mkdir } from "../../ground/platform/files/files.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { shareCalls } from "../../ground/platform/engine/share-calls.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import type { Caller } from "./scopes.ts";

/** A durable record of which token started which session: without `read`, a token sees only its own. */
export interface SessionOwners {
  /** Records a session's caller. Never rejects: the session has begun. A failed write is kept until this host ends. */
  note(sessionId: string, caller: Caller): Promise<void>;
  ownerOf(sessionId: string): string | undefined;
  /** Returns the sessions that a caller started, the newest first. */
  ownedBy(caller: Caller): string[];
}

/** Sessions to remember, the newest. */
const mostNoted = 50_000;
/** How often to try again what could not be written. Milliseconds. */
const tryEveryMs = 1000;
const maxFileBytes = 32 * 1024 * 1024;

/** Opens the record of a state folder, one line per session; skips a line that a crash cut off. */
export async function openSessionOwners(
  stateDir: string,
  { onProblem = () => {} }: { onProblem?: (message: string) => void } = {},
): Promise<SessionOwners> {
  const file = join(stateDir, "http", "session-owners");
  const owners = new Map<string, string>(await readLines(file));
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await replaceFile(file, textOf(owners));
  let noted = new Map<string, string>();
  let writing = Promise.resolve();
  let isFailing = false;
  const write = shareCalls(async () => {
    const added = noted;
    noted = new Map();
    try {
      // A failed write may have left a part of a line.
      await appendFile(file, `${isFailing ? "\n" : ""}${textOf(added)}`, { mode: 0o600 });
      isFailing = false;
    } catch (error) {
      noted = new Map([...added, ...noted]);
      if (!isFailing) {
        const what = "A token that only runs finds its newest sessions after a restart once they can be noted";
        onProblem(`${what}: ${toErrorData(error).message}`);
      }
      isFailing = true;
      startBackgroundTimer(() => void (writing = write()), tryEveryMs);
    }
  });
  return {
    ownerOf: (sessionId) => owners.get(sessionId),
    ownedBy: ({ id }) => [...owners].filter(([, owner]) => owner === id).map(([session]) => session).reverse(),
    note: (sessionId, { id }) => {
      if (owners.get(sessionId) === id) return writing;
      owners.set(sessionId, id);
      const oldest = owners.size > mostNoted ? owners.keys().next().value : undefined;
      if (oldest !== undefined) owners.delete(oldest);
      noted.set(sessionId, id);
      return writing = write();
    },
  };
}

async function readLines(file: string): Promise<[string, string][]> {
  const bytes = await readPlainFile(file, maxFileBytes);
  const lines = bytes === null ? [] : new TextDecoder().decode(bytes).split("\n");
  return lines.flatMap((line): [string, string][] => {
    const [, session, token] = /^([\w.-]+) (owner|[0-9a-f]{32})$/.exec(line) ?? [];
    return session !== undefined && token !== undefined ? [[session, token]] : [];
  }).slice(-mostNoted);
}

function textOf(owners: ReadonlyMap<string, string>): string {
  return [...owners].map(([session, token]) => `${session} ${token}\n`).join("");
}
