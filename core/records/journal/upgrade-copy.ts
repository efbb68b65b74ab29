import { readdir, rm, stat } from "../../ground/platform/files/files.ts";
import { basename, dirname, join } from "../../ground/platform/files/paths.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { readNumber, schemaVersion } from "./journal-schema.ts";
import type { DeletedBy } from "./session-record.ts";

/** How long a copy is of use to someone who goes back to the version before. Milliseconds. */
const keptMs = 30 * 24 * 60 * 60 * 1000;

const weekMs = 7 * 24 * 60 * 60 * 1000;

/**
 * Keeps a copy of a journal that an older version wrote, as `<file>.version-<its schema>`, before the upgrade makes it
 * unreadable for that version; removes copies that are no longer of use.
 */
export async function keepBeforeUpgrade(database: SqliteFile, file: string): Promise<void> {
  await removeCopies(file, { olderThanMs: keptMs });
  const version = readNumber(database, "PRAGMA user_version", "user_version");
  if (version === 0 || version >= schemaVersion) return;
  const copy = `${file}.version-${version}`;
  // One that is there is of an upgrade that was not finished, or of a journal that went back: older, so no better.
  await rm(copy, { force: true });
  await database.execAside(`VACUUM INTO '${copy.replaceAll("'", "''")}'`);
}

/**
 * Removes the copies that may hold a deleted session: at once where a client deletes it, after a week where its age does,
 * which no one waits for.
 */
export async function forgetInUpgradeCopies(file: string, by: DeletedBy): Promise<void> {
  await removeCopies(file, { olderThanMs: by === "client" ? 0 : weekMs });
}

async function removeCopies(file: string, { olderThanMs }: { olderThanMs: number }): Promise<void> {
  const start = `${basename(file)}.version-`;
  for (const name of await readdir(dirname(file)).catch(() => [])) {
    const copy = join(dirname(file), name);
    if (!name.startsWith(start) || olderThanMs > 0 && Date.now() - (await stat(copy)).mtimeMs < olderThanMs) continue;
    await rm(copy, { force: true });
  }
}
