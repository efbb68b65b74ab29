import { appendFile, mkdir } from "../../ground/runtime/files.ts";
import { dirname, join } from "../../ground/runtime/paths.ts";
import { readPlainFile } from "../../ground/runtime/read-plain-file.ts";
import { replaceFile } from "../../ground/runtime/replace-file.ts";
import type { Caller } from "./scopes.ts";

/** Which token started which session, durably: a token that may not read all sees only its own. */
export interface SessionOwners {
  /** Never rejects: the session has begun. What cannot be written down holds until this host ends. */
  note(sessionId: string, caller: Caller): Promise<void>;
  ownerOf(sessionId: string): string | undefined;
  /** Sessions that a caller started, the newest first. */
  ownedBy(caller: Caller): string[];
}

/** Sessions that are remembered, the newest. */
const mostNoted = 50_000;
const maxFileBytes = 32 * 1024 * 1024;

/** The notes of a state folder, a line for each session; what a crash cut off is left out. */
export async function openSessionOwners(
  stateDir: string,
  { onProblem = () => {} }: { onProblem?: (message: string) => void } = {},
): Promise<SessionOwners> {
  const file = join(stateDir, "http", "session-owners");
  const owners = new Map<string, string>(await readLines(file));
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await replaceFile(file, textOf(owners));
  let writing = Promise.resolve();
  return {
    ownerOf: (sessionId) => owners.get(sessionId),
    ownedBy: ({ id }) => [...owners].filter(([, owner]) => owner === id).map(([session]) => session).reverse(),
    note: (sessionId, { id }) => {
      if (owners.get(sessionId) === id) return writing;
      owners.set(sessionId, id);
      const oldest = owners.size > mostNoted ? owners.keys().next().value : undefined;
      if (oldest !== undefined) owners.delete(oldest);
      return writing = writing.then(() => appendFile(file, `${sessionId} ${id}\n`, { mode: 0o600 })).catch((error) =>
        onProblem(`After a restart a token that only runs will not find its session ${sessionId}: ${String(error)}`)
      );
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
