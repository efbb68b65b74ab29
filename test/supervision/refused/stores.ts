import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { openDaemonLog } from "../../../core/doors/daemon/daemon-log.ts";
import { readDaemonRecord, writeDaemonRecord } from "../../../core/doors/daemon/daemon-record.ts";
import { openSessionOwners } from "../../../core/doors/http/session-owners.ts";
import { thisProcess } from "../../../core/records/workspace/holder.ts";
import { openTokens } from "../../../core/doors/http/tokens.ts";
import { PositionFile } from "../../../core/cluster/log/position-file.ts";
import { logStart } from "../../../core/cluster/log/log-entry.ts";
import { startChildLedger } from "../../../core/ground/platform/processes/child-ledger.ts";
import { exposedFolder, noteExposed, noteSession } from "../../../core/ground/recorded/exposed-folders.ts";
import { allRecords, writeRecord } from "../../../core/ground/recorded/records.ts";
import { changeManifest } from "../../../core/packages/install/manifest-transaction.ts";
import { wholeFolder } from "../../../core/records/gate/held-item.ts";
import { HeldFiles } from "../../../core/records/workspace/held-files.ts";
import type { WorkspaceRecord } from "../../../core/records/workspace/workspace-record.ts";
import { WorkspaceFiles } from "../../../core/records/workspace/workspace-files.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import { openPutAside } from "../../../core/doors/http/put-aside.ts";
import { openCrashFiles } from "../../../core/sessions/host/state/crash-store.ts";
import { openPins } from "../../../core/sessions/host/state/pin-store.ts";
import { openUseFiles } from "../../../core/sessions/routing/use-files.ts";
import { readSecrets, storeSecret } from "../../../core/walls/secrets/store.ts";
import { EnvelopeSource, readAll } from "../../records/journal/journal-fixture.ts";

/** A store with values that it has acknowledged. */
export interface Store {
  /** Writes a value; when it resolves, the store has it. */
  write(value: string): Promise<void>;
  /** Returns the values that somebody finds who opens it again. */
  read(): Promise<readonly string[]>;
  close?(): Promise<void>;
}

/** One row of the matrix. */
export interface StoreKind {
  /** The source files of the host that write it. */
  files: readonly string[];
  /** It keeps what it could not write and writes it later by itself, so that its callers get no error. */
  writesLater?: boolean;
  /** It holds the last value alone. */
  holdsOne?: boolean;
  /** Who opens it begins with an empty one. */
  isNew?: boolean;
  open(folder: string): Promise<Store>;
}

/** Every store with something that is acknowledged and must not be lost. */
export const stores: Readonly<Record<string, StoreKind>> = {
  journal: {
    files: ["core/records/journal/journal-database.ts", "core/ground/platform/state/sqlite.ts"],
    open: journal,
  },
  "keys of journals": {
    files: ["core/records/journal/chain-key.ts", "core/ground/platform/files/write-new-file.ts"],
    open: newJournals,
  },
  tokens: { files: ["core/doors/http/tokens.ts", "core/ground/platform/files/replace-file.ts"], open: tokens },
  "the first token": { files: ["core/doors/http/tokens.ts"], holdsOne: true, open: firstToken },
  "owners of sessions": { files: ["core/doors/http/session-owners.ts"], writesLater: true, open: owners },
  secrets: {
    files: ["core/walls/secrets/store.ts", "core/ground/recorded/write-recorded.ts"],
    open: (folder) => secrets(folder, { exposed: false }),
  },
  "secrets while a session runs": {
    files: ["core/walls/secrets/store.ts", "core/ground/recorded/write-recorded.ts"],
    open: (folder) => secrets(folder, { exposed: true }),
  },
  "host manifest and lock of packages": {
    files: ["core/packages/install/manifest-transaction.ts", "core/packages/manifest/manifest-edits.ts"],
    isNew: true,
    open: manifest,
  },
  "records of what hosts act on": {
    files: [
      "core/ground/recorded/records.ts",
      "core/ground/recorded/exposed-folders.ts",
      "core/ground/platform/files/small-files.ts",
    ],
    open: recorded,
  },
  "worktrees of sessions": { files: ["core/records/workspace/workspace-files.ts"], open: workspaces },
  "held changes": { files: ["core/records/workspace/held-files.ts"], open: held },
  "sessions at work in place": { files: ["core/records/workspace/held-files.ts"], open: watched },
  "what a person put off": { files: ["core/doors/http/put-aside.ts"], open: aside },
  "pins of programs": { files: ["core/sessions/host/state/pin-store.ts"], open: pins },
  crashes: { files: ["core/sessions/host/state/crash-store.ts"], open: crashes },
  "use of access modes": { files: ["core/sessions/routing/use-files.ts"], holdsOne: true, open: uses },
  "child processes": {
    files: ["core/ground/platform/processes/child-ledger.ts"],
    writesLater: true,
    isNew: true,
    open: children,
  },
  "the daemon's address": { files: ["core/doors/daemon/daemon-record.ts"], holdsOne: true, open: address },
  "the daemon's log": {
    files: ["core/doors/daemon/daemon-log.ts", "core/ground/platform/files/rotating-file.ts"],
    writesLater: true,
    open: daemonLog,
  },
  "positions in machines' logs": {
    files: ["core/cluster/log/position-file.ts"],
    holdsOne: true,
    writesLater: true,
    open: position,
  },
};

const limits = { room_wait_ms: 20 };

async function journal(folder: string): Promise<Store> {
  const file = join(folder, "journal.db");
  const own = await openJournal(file, { limits });
  return {
    write: appender(own),
    // The same one: a second one would be another process.
    read: async () => outputsOf(await readAll(own)),
    close: () => own.close(),
  };
}

function appender(own: Journal): (value: string) => Promise<void> {
  const source = new EnvelopeSource(own.lastGseq);
  return async (value) => {
    await own.append({ session_id: value, envelopes: [source.next(value, value)], texts: [] });
  };
}

function outputsOf(envelopes: Awaited<ReturnType<typeof readAll>>): string[] {
  return envelopes.flatMap(({ event }) => event.type === "output" ? [event.data] : []);
}

async function newJournals(folder: string): Promise<Store> {
  const made: string[] = [];
  return {
    async write(value) {
      await mkdir(join(folder, value), { recursive: true });
      const own = await openJournal(join(folder, value, "journal.db"), { limits });
      try {
        await appender(own)(value);
      } finally {
        await own.close();
      }
      made.push(value);
    },
    read: async () => {
      const found = await Promise.all(made.map(async (value) => {
        const own = await openJournal(join(folder, value, "journal.db"));
        return await readAll(own).then(outputsOf).finally(() => own.close());
      }));
      return found.flat();
    },
  };
}

async function tokens(folder: string): Promise<Store> {
  const made = new Map<string, string>();
  const store = openTokens(folder);
  return {
    async write(value) {
      made.set((await store.create({ name: value, scopes: ["run"] })).token, value);
    },
    async read() {
      const again = openTokens(folder);
      const known = await Promise.all([...made].map(async ([token, value]) => await again.check(token) ? [value] : []));
      return known.flat();
    },
  };
}

/** The value is that the file and the list agree. */
async function firstToken(folder: string): Promise<Store> {
  let last = "";
  return {
    async write(value) {
      await openTokens(folder).first();
      last = value;
    },
    async read() {
      const kept = (await readFile(join(folder, "http", "token"), "utf8")).trim();
      return await openTokens(folder).check(kept) === null ? [] : [last];
    },
  };
}

async function owners(folder: string): Promise<Store> {
  const store = await openSessionOwners(folder);
  return {
    write: (value) => store.note(value, { id: "owner", scopes: [] }),
    read: async () => (await openSessionOwners(folder)).ownedBy({ id: "owner", scopes: [] }),
  };
}

async function secrets(folder: string, { exposed }: { exposed: boolean }): Promise<Store> {
  const file = join(folder, "secrets", "secrets.json");
  if (exposed) {
    const at = exposedFolder(folder);
    noteExposed(at);
    noteSession(at, "running");
  }
  return {
    write: (value) => storeSecret(file, { name: value.toUpperCase(), value: `secret of ${value}` }),
    read: async () => [...(await readSecrets(file)).keys()].map((name) => name.toLowerCase()),
  };
}

async function manifest(folder: string): Promise<Store> {
  const file = join(folder, "bulkhead.yaml");
  await writeFile(file, "bulkhead: 1\n");
  return {
    write: (value) =>
      changeManifest(file, async ({ text, writeText, readLock, writeLock }) => {
        await writeText(`${text}# ${value}\n`);
        await writeLock(await readLock());
      }),
    read: async () => (await readFile(file, "utf8")).split("\n").flatMap((line) => /^# (\w+)$/.exec(line)?.[1] ?? []),
  };
}

async function recorded(folder: string): Promise<Store> {
  const at = exposedFolder(join(folder, "project"));
  return {
    async write(value) {
      const path = join(at.path, value);
      const content = { digest: `sha256:${value}`, files: { one: value } };
      const look = { mark: null } as Parameters<typeof writeRecord>[1]["look"];
      writeRecord(at, { path, road: { key: path } as never, kind: "plugin", content, look });
    },
    read: async () => allRecords(at).map(({ digest }) => digest.replace("sha256:", "")),
  };
}

async function workspaces(folder: string): Promise<Store> {
  const files = new WorkspaceFiles(join(folder, "workspaces"), thisProcess(null));
  return {
    write: (value) => files.write(workspace(value, folder)),
    read: async () => (await files.list()).map(({ session_id }) => session_id),
  };
}

function workspace(session_id: string, folder: string): WorkspaceRecord {
  return {
    session_id,
    state: "open",
    workdir: folder,
    repository: folder,
    folder,
    base_commit: "",
    base_tree: "",
    created_at: new Date(0).toISOString(),
    ended_at: null,
    kept_commit: null,
    store: "",
    unfinished: null,
    holder: null,
  };
}

async function held(folder: string): Promise<Store> {
  const files = new HeldFiles(join(folder, "held"), thisProcess(null));
  return {
    write: (session_id) => files.write({ session_id, folder, at: new Date(0).toISOString(), items: [wholeFolder] }),
    read: async () => (await files.list()).map(({ session_id }) => session_id),
  };
}

async function watched(folder: string): Promise<Store> {
  const files = new HeldFiles(join(folder, "held"), thisProcess(null));
  return {
    write: (session_id) => files.watch({ session_id, folder, start: { since: 0, known: {} } }),
    read: async () => (await files.list()).map(({ session_id }) => session_id),
  };
}

async function pins(folder: string): Promise<Store> {
  const store = openPins(join(folder, "pins")).of("plugin");
  const pin = (binary: string) => ({ binary, path: "/bin/a", real: "/bin/a", owner: 0, pinned_at: "now" });
  return {
    write: (value) => store.write(pin(value)),
    read: async () => (await openPins(join(folder, "pins")).of("plugin").list()).map(({ binary }) => binary),
  };
}

async function aside(folder: string): Promise<Store> {
  await mkdir(join(folder, "http"), { recursive: true });
  const store = openPutAside(folder);
  const put: string[] = [];
  return {
    async write(value) {
      put.push(value);
      await store.put(value, value);
    },
    async read() {
      const again = openPutAside(folder);
      const found = await Promise.all(put.map((value) => again.until(value)));
      return found.filter((value) => value !== "");
    },
  };
}

async function crashes(folder: string): Promise<Store> {
  const store = openCrashFiles(join(folder, "crashes"));
  return {
    write: (plugin_id) => store.write({ plugin_id, crashes: [], quarantined_at: new Date(0).toISOString() }),
    read: async () => (await store.quarantined()).map(({ plugin_id }) => plugin_id),
  };
}

async function uses(folder: string): Promise<Store> {
  const store = openUseFiles({ root: folder, folder });
  return {
    write: (adapter_id) => store.write([{ adapter_id, access_mode: "", spans: [], limited_until: null }]),
    read: async () => (await store.readOwn()).map(({ adapter_id }) => adapter_id),
  };
}

async function children(folder: string): Promise<Store> {
  const file = join(folder, "children.jsonl");
  const ledger = startChildLedger(file, { hostVersion: "0" });
  return {
    async write(session_id) {
      ledger.add({ pid: process.pid, start: "0", role: "agent", session_id });
    },
    async read() {
      const lines = (await readFile(file, "utf8")).split("\n");
      return lines.flatMap((line) => {
        try {
          return (JSON.parse(line) as { session_id?: string }).session_id ?? [];
        } catch {
          return [];
        }
      });
    },
    close: () => ledger.close(),
  };
}

async function address(folder: string): Promise<Store> {
  const file = join(folder, "daemon.json");
  const record = (version: string) => ({
    record: 1 as const,
    pid: 1,
    start: null,
    started_at: "now",
    version,
    runtime: "",
    address: "",
    socket: null,
    token_file: "",
    log_file: "",
    config_file: null,
  });
  return {
    write: (value) => writeDaemonRecord(file, record(value)),
    async read() {
      const found = await readDaemonRecord(file);
      return found === null || found === "broken" ? [] : [found.version];
    },
  };
}

async function daemonLog(folder: string): Promise<Store> {
  const file = join(folder, "daemon.log");
  const log = openDaemonLog({ file, log_level: "info", log_file_bytes: 1_000_000, log_files: 1 });
  return {
    async write(message) {
      log.write({ level: "info", message });
    },
    async read() {
      const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
      return lines.map((line) => (JSON.parse(line) as { message: string }).message);
    },
    close: async () => log.close(),
  };
}

async function position(folder: string): Promise<Store> {
  const file = join(folder, "position.json");
  const store = new PositionFile(file);
  return {
    async write(writer) {
      store.note({ ...logStart, writer });
      await store.close();
    },
    read: async () => [(await new PositionFile(file).read()).writer],
  };
}
