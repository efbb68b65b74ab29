import { writeFiles } from "../../ground/platform/files/write-new-file.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { copyFile, mkdir, readdir } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { requestedWith } from "../../packages/permissions/requested-permissions.ts";
import { readingEnv } from "../../records/git/find-repository.ts";
import { readHead, writePart } from "../../records/wire/record-files.ts";
import { openKitHost } from "./kit-host.ts";
import type { Subject } from "./observe.ts";
import type { Take } from "./seen.ts";
import { emptyTake } from "./take.ts";

/** Name of the session that a record plays, also in `conformance.yaml`, whose `files` it begins with. */
const wireSession = "wire";

/** Time for git to make a repository. Milliseconds. */
const gitMs = 30_000;

/**
 * Runs a session of a plugin with its real program, in its walls and without a network, whose calls of its model are answered
 * from a record.
 * @param record folder of the record
 * @throws {BulkheadError} `invalid_config` for a folder that is no record, or one of an older host
 */
export async function takeWire(subject: Subject, record: string): Promise<Take> {
  const { folder, manifest, script, isolation } = subject;
  const head = await readHead(record);
  if (head === null) throw noRecord(record, "it has no head.json of one");
  if (head.requested === undefined) throw noRecord(record, "it does not hold the request, as those of older hosts");
  await using kit = await openKitHost();
  const kept = join(kit.root, "state", "wire", head.session_id);
  await mkdir(kept, { recursive: true });
  for (const name of await readdir(record)) {
    if (name !== "head.json") await copyFile(join(record, name), join(kept, name));
  }
  await writePart(kept, "head", { ...head, is_moved: true });
  const workdir = join(kit.root, "workdir");
  await makeRepository(workdir, script.sessions.find(({ name }) => name === wireSession)?.files ?? {});
  await kit.host.registry.register(folder, {
    isolation,
    trusted: isolation === "thread",
    grant: requestedWith(manifest, script.config),
    config: script.config,
    trust_tools: manifest.defaults?.trust_tools === true,
  });
  const take = emptyTake(wireSession, "play");
  const requested = head.requested as Partial<SessionRequest>;
  const request = { prompt: "", ...requested, workdir, answer_timeout_ms: 0, replay_of: head.session_id };
  try {
    const session = await kit.host.runSession(request, { adapter: manifest.id });
    for await (const envelope of session.events()) {
      take.envelopes.push(envelope);
      const { source, synthetic, event } = envelope;
      if (source === "agent" && synthetic !== true) take.events.push(event as AdapterEvent);
    }
    take.result = await session.result();
    take.changed = (take.result.artifacts ?? []).map(({ path }) => path);
  } catch (error) {
    take.refused = toErrorData(error);
  }
  return take;
}

/** A replay works in a worktree. */
async function makeRepository(workdir: string, files: Readonly<Record<string, string>>): Promise<void> {
  await writeFiles(workdir, files);
  const named = ["-c", "user.name=kit", "-c", "user.email=kit@localhost", "-c", "commit.gpgsign=false"];
  for (const args of [["init", "-q"], ["add", "-A"], [...named, "commit", "-q", "--allow-empty", "-m", "files"]]) {
    const signal = AbortSignal.timeout(gitMs);
    const { exit_code, stderr } = await runGit(args, { cwd: workdir, env: readingEnv(), signal });
    if (exit_code !== 0) {
      throw new BulkheadError("io_error", `Cannot make a repository for the record: ${stderr.trim()}`);
    }
  }
}

function noRecord(folder: string, why: string): BulkheadError {
  return new BulkheadError("invalid_config", `Cannot play "${folder}" as a record of calls: ${why}.`, {
    hint: "Record a session with bulkhead run --record-wire, and name its folder below wire/ in the state folder.",
  });
}
