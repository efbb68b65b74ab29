/** Functions that put content into files. */
const names = [
  "appendFile",
  "copyFile",
  "writeFile",
  "appendFileSync",
  "copyFileSync",
  "writeFileSync",
  "writeSync",
  "truncateSync",
  "createWriteStream",
  "copyWithTime",
  "openRotatingFile",
  "openSqlite",
  "putText",
  "replaceFile",
  "startAppendLog",
  "swapFile",
  "writeContained",
  "writeNewFile",
  "writeRecorded",
];
const imports = /import\s+\{([^}]*)\}\s+from/g;
const opensToWrite = /\bopen(Sync)?\([^)]*"(w|a|wx|r\+)/;

/** Whether a source writes files. */
export function writers(source: string): boolean {
  const imported = [...source.matchAll(imports)].flatMap(([, list]) => list!.split(",").map((name) => name.trim()));
  return opensToWrite.test(source) || imported.some((name) => names.includes(name.split(" as ")[0]!));
}

const cache = "what it keeps is made again where it is missing";
const session = "a session's own while it runs: the session fails with the error";
const command = "a command writes it where it is told to, and fails with the error";
const nothing = "nobody relies on what it writes";
const ground = "its callers are the stores";

/** Sources that write and are no store, or folders of such, with the reason. */
export const noStores: Readonly<Record<string, string>> = {
  "core/kit/": "tools of authors and attackers write in folders of their own",
  "core/records/git/": session,
  "core/records/checkpoints/":
    "a turn whose files are not kept says so, and a rewind that cannot write changes nothing",
  "core/records/wire/": "a record that misses a call says so, and no session plays it",
  "core/walls/agent/": session,
  "core/walls/broker/": "an adapter's calls: they fail with the error, and each file is the old or the new one",
  "core/doors/cli/": command,
  "core/packages/install/staging.ts": "a package that is not whole is not installed",
  "core/packages/install/waiting-update.ts": "the next look at the registry finds the update again",
  "core/records/journal/copy-journal.ts": "a copy that is not whole is removed with its backup",
  "core/sessions/host/backup/": "a backup without its list is none, and what a restore replaces is kept beside it",
  "core/records/journal/compact-journal.ts": "it changes a journal by SQLite's transactions, as the journal does",
  "core/records/journal/journal-reader.ts": nothing,
  "core/records/journal/salvage/": "it has tests of its own: one that did not end begins again",
  "core/records/journal/check-journal.ts": "a mark for the running host: a verification finds the same again",
  "core/records/workspace/settle-held.ts": "a person's file: it is the old or the new one",
  "core/sessions/host/attachments/": "an upload that is not whole is removed, and its client gets the error",
  "core/sessions/host/neighbours.ts": "git tells without it what changed, and not who changed it",
  "core/sessions/host/state/record.ts": command,
  "core/ground/config/known-host-manifest.ts": cache,
  "core/packages/manifest/known-manifests.ts": cache,
  "core/packages/bundler/script-cache.ts": cache,
  "core/records/history/index-schema.ts": cache,
  "core/records/telemetry/export-position.ts": cache,
  "core/ground/platform/engine/kept-code.ts": cache,
  "core/ground/platform/files/copy-with-time.ts": ground,
  "core/ground/platform/processes/detached-process.ts": nothing,
  "core/ground/platform/state/disk-reserve.ts": "room that can be taken again",
  "core/ground/platform/processes/inherited-descriptors.ts": nothing,
  "core/ground/platform/state/lock-file.ts": "locks have tests of their own",
  "core/ground/platform/os-walls/cgroup.ts": "settings of the kernel",
  "core/ground/platform/state/state-health.ts": nothing,
  "core/ground/platform/processes/thread-pipe.ts": "a pipe",
};
