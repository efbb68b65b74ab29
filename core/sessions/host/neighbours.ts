import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { appendFile, mkdir, readdir, readFile, unlink, writeFile } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { pathsOverlap } from "../session/shared-workdirs.ts";
import { isAlive, thisProcess } from "../../records/workspace/holder.ts";
import { type Holder, holderSchema } from "../../records/workspace/workspace-record.ts";

/** One session at work, as its file describes it. */
interface Note {
  workdir: string;
  holder: Holder;
}

const noteSchema: SchemaOf<Note> = exactly<Note>()(
  Type.Object({ workdir: Type.String({ maxLength: 4096 }), holder: holderSchema }),
);

/** Most ids kept for one session. */
const mostIds = 100;

/**
 * Tells a host's sessions of those of the other hosts of its state folder that work in overlapping folders; each is a
 * file while it runs. Sessions of one host learn of each other in its memory: a hundred would read a hundred files each.
 * git tells what changed in a folder but not who changed it. A file that cannot be written or read is ignored: no
 * session fails for it.
 */
export class Neighbours {
  readonly #folder: string;
  readonly #holder: Holder;
  /** Ids of this host's sessions. */
  readonly #own = new Set<string>();

  /**
   * @param folder created on first use
   * @param options.lock that this host holds as long as it runs
   */
  constructor(folder: string, { lock = null }: { lock?: string | null } = {}) {
    this.#folder = folder;
    this.#holder = thisProcess(lock);
  }

  /** Records that a session works below a real absolute path from now on, and exchanges ids with other hosts' there. */
  async enter(sessionId: string, workdir: string): Promise<void> {
    const note: Note = { workdir, holder: this.#holder };
    this.#own.add(sessionId);
    await quietly(async () => {
      const write = () => writeFile(this.#file(sessionId, "json"), JSON.stringify(note), { mode: 0o600 });
      await write().catch(async () => {
        await mkdir(this.#folder, { recursive: true, mode: 0o700 });
        await write();
      });
      for (const other of await this.#others(workdir)) {
        await Promise.all([this.#meet(sessionId, other), this.#meet(other, sessionId)]);
      }
    });
  }

  /** Returns the ids of other hosts' sessions that it has met until now, sorted. */
  async metBy(sessionId: string): Promise<string[]> {
    const text = await readFile(this.#file(sessionId, "met"), "utf8").catch(() => "");
    return [...new Set(text.split("\n").filter((id) => id !== ""))].slice(0, mostIds).sort();
  }

  /** Records that the session no longer works there. */
  async leave(sessionId: string): Promise<void> {
    this.#own.delete(sessionId);
    // The note goes first: who finds it writes into the other file.
    for (const kind of ["json", "met"] as const) await quietly(() => unlink(this.#file(sessionId, kind)));
  }

  /** Returns the ids of other hosts' sessions that work there now. */
  async othersIn(workdir: string): Promise<string[]> {
    return await this.#others(workdir).catch(() => []);
  }

  async #others(workdir: string): Promise<string[]> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith(".json"));
    const ids = names.map((name) => name.slice(0, -".json".length)).filter((id) => !this.#own.has(id));
    const found: string[] = [];
    for (const id of ids) {
      const note = await this.#read(id);
      if (note === null || !isAlive(note.holder)) await this.leave(id);
      else if (pathsOverlap(workdir, note.workdir)) found.push(id);
    }
    return found;
  }

  async #read(id: string): Promise<Note | null> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#file(id, "json"), "utf8"));
      return Value.Check(noteSchema, value) ? value : null;
    } catch {
      return null;
    }
  }

  /** Appends one short line in a single write. */
  async #meet(sessionId: string, other: string): Promise<void> {
    await appendFile(this.#file(sessionId, "met"), `${other}\n`, { mode: 0o600 });
  }

  #file(sessionId: string, kind: "json" | "met"): string {
    return join(this.#folder, `${sessionId}.${kind}`);
  }
}

async function quietly(act: () => Promise<void>): Promise<void> {
  await act().catch(() => undefined);
}
