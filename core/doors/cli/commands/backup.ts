import { hostBuild } from "../../../ground/config/version.ts";
import { dirname, join, resolve } from "../../../ground/platform/files/paths.ts";
import { stat } from "../../../ground/platform/files/files.ts";
import { configFiles, type Installation } from "../../../sessions/host/backup/backup-format.ts";
import { type BackupReport, makeBackup } from "../../../sessions/host/backup/make-backup.ts";
import { restoreBackup, type RestoreReport } from "../../../sessions/host/backup/restore-backup.ts";
import { stateFolderOf } from "../../../sessions/host/state/state-folder.ts";
import { readHostManifest } from "../../../packages/manifest/find-host-manifest.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { findState, knownDir, manifestFile, stateDirOf } from "../open-host.ts";
import { safeLine } from "../render/agent-text.ts";
import { formatBytes, plural } from "../render/quantities.ts";
import { progressLine } from "../while-waiting.ts";
import { storeOf } from "./secret.ts";

/** `bulkhead backup <folder>`. */
export const defineBackup: DefineCommand = (command, bind) => {
  command
    .argument("<folder>", "a new folder; it will hold secrets and tokens, so keep it as safe as they are")
    .addHelpText(...examples(
      ["bulkhead backup ~/backups/bulkhead-monday", "while the daemon runs; each journal as it is at one moment"],
      ["bulkhead restore ~/backups/bulkhead-monday", "on another machine, or after the daemon was stopped"],
    ))
    .action(bind(backup));
};

/** `bulkhead restore <folder>`. */
export const defineRestore: DefineCommand = (command, bind) => {
  command
    .argument("<folder>", 'a folder that "bulkhead backup" made')
    .option("--replace", "keep what stands in the way under another name, and take its place")
    .addHelpText(...examples(
      [
        "bulkhead restore ~/backups/bulkhead-monday",
        "into a folder without a bulkhead.yaml, and an empty state folder",
      ],
      ["bulkhead restore ~/backups/bulkhead-monday --replace", "go back; what was there is kept beside it"],
    ))
    .action(bind(restore));
};

async function backup(call: Invocation): Promise<number> {
  const { terminal, args: [folder = ""] } = call;
  const progress = progressLine(terminal);
  const [{ stateDir }, file] = [await findState(call), await manifestFile(call)];
  const from = { stateDir, manifestFile: file, secretsFile: storeOf(call) };
  const report = await makeBackup(from, resolve(terminal.cwd, folder), {
    version: hostBuild,
    onProgress: (what) => progress.show(`copying ${safeLine(what)}`),
  }).finally(() => progress.clear());
  return await tell(call, report, backupText(report));
}

function backupText({ folder, files, bytes, unverified, worktrees_left_out }: BackupReport): string {
  const lines = [`Backed up ${plural(files, "file")}, ${formatBytes(bytes)}, to ${safeLine(folder)}.`];
  for (const file of unverified) {
    lines.push(`${safeLine(file)} does not verify, and is in the backup as it is. See "bulkhead journal verify".`);
  }
  if (worktrees_left_out > 0) {
    const what = plural(worktrees_left_out, "worktree");
    lines.push(
      `Not in it: ${what} of sessions, which belong to repositories here. Apply them first: "bulkhead session list".`,
    );
  }
  return lines.join("\n");
}

async function restore(call: Invocation): Promise<number> {
  const { terminal, args: [named = ""], options } = call;
  const folder = resolve(terminal.cwd, named);
  const file = resolve(terminal.cwd, call.configFile ?? await manifestFile(call) ?? "bulkhead.yaml");
  const [inBackup = ""] = Object.keys(configFiles(file));
  const manifest = await stat(join(folder, inBackup)).then(
    () => readHostManifest(join(folder, inBackup), { stateDir: knownDir(call) }),
    () => undefined,
  );
  const stateDir = stateFolderOf({ stateDir: stateDirOf(call), manifest }, dirname(file));
  const progress = progressLine(terminal);
  const to = { stateDir, manifestFile: file, secretsFile: storeOf(call) };
  const report = await restoreBackup(folder, to, {
    replace: options["replace"] === true,
    onProgress: (what) => progress.show(safeLine(what)),
  }).finally(() => progress.clear());
  return await tell(call, report, restoreText(report, to));
}

function restoreText(
  { made_at, version, files, set_aside, left_out }: RestoreReport,
  { stateDir }: Installation,
): string {
  return [
    `Restored ${plural(files, "file")} of ${safeLine(made_at)}, made by version ${safeLine(version)}, to ${
      safeLine(stateDir)
    }.`,
    ...set_aside.map(({ from, to }) => `What was in ${safeLine(from)} is in ${safeLine(to)}.`),
    ...left_out.map((name) => `Left out: ${safeLine(name)}.`),
    'Tokens that were revoked since then count again: see "bulkhead token list".',
  ].join("\n");
}
