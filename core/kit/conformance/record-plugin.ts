import { utf8Text } from "../../ground/platform/files/text-or-base64.ts";
import { writeFiles } from "../../ground/platform/files/write-new-file.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { readFile, realpath } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { readManifest } from "../../packages/manifest/read-manifest.ts";
import { requestedWith } from "../../packages/permissions/requested-permissions.ts";
import { type KitHost, openKitHost } from "./kit-host.ts";
import { recordedAnswers } from "./recorded-answers.ts";
import type { Heard } from "./recorder-source.ts";
import { readScriptText, readText, type ScriptedSession, scriptName } from "./script.ts";
import type { Take } from "./seen.ts";
import { runTake } from "./take.ts";
import { writeWatched } from "./watched-package.ts";
import { kitMark } from "./watched-source.ts";
import { withRecording } from "./write-script.ts";

interface RecordPluginOptions {
  /** Name of the session in `conformance.yaml`; one of that name is recorded again. */
  session: string;
  /** Its prompt; default: that of the session of that name, else "Say hello.". */
  prompt?: string | undefined;
}

/** A session that was recorded. */
export interface PluginRecording {
  session: string;
  outcome: SessionResult["outcome"];
  /** Paths in the plugin's folder that were written, `conformance.yaml` among them. */
  files: string[];
  /** Sentences on what a replay will lack. */
  notes: string[];
}

const mostFileBytes = 64 * 1024;
const mostFiles = 32;
const watchedId = "recorded";

/**
 * Runs one real session of a plugin, with its own programs and servers and every permission that its manifest asks for, in a
 * folder of its own, and writes what they said into `recordings/` and `conformance.yaml`, where the kit finds it.
 * @param folder the plugin's
 * @throws {BulkheadError} `unsupported` where nothing could be recorded; `invalid_manifest`, `io_error`
 */
export async function recordPlugin(folder: string, wanted: RecordPluginOptions): Promise<PluginRecording> {
  const place = await realpath(folder).catch(() => folder);
  const manifest = await readManifest(place);
  const read = readText(await readScriptText(place));
  const before = read.script.sessions.find(({ name }) => name === wanted.session);
  const prompt = wanted.prompt ?? before?.prompt ?? "Say hello.";
  const session: ScriptedSession = { ...before, name: wanted.session, prompt };
  await using kit = await openKitHost();
  const { take, heard, workdir } = await playReal(kit, {
    folder: place,
    manifest,
    session,
    config: read.script.config,
  });
  const result = demandSomething(take, heard);
  const { left, notes } = await filesLeft(workdir, take.changed);
  const answers = recordedAnswers(heard, { name: session.name, workdir, root: kit.root, left });
  const asked = (requestedWith(manifest, read.script.config).run ?? []).map(({ binary }) => binary);
  const played = { ...session, expect: expectationOf(result, kit.root) };
  const text = withRecording(read, played, { ...answers, asked });
  const files = new Map([...answers.files, [scriptName, text]]);
  await writeFiles(place, files);
  return {
    session: session.name,
    outcome: result.outcome,
    files: [...files.keys()],
    notes: [...notes, ...lacking(heard)],
  };
}

interface RealSession {
  folder: string;
  manifest: Manifest;
  session: ScriptedSession;
  config: Record<string, unknown>;
}

/** Runs the session on the kit's own adapter around the plugin's. */
async function playReal(
  { host, root }: KitHost,
  { folder, manifest, session, config }: RealSession,
): Promise<{ take: Take; heard: Heard; workdir: string }> {
  const permissions = requestedWith(manifest, config);
  const watched = await writeWatched(join(root, "watched"), { id: watchedId, folder, manifest, permissions });
  await host.registry.register(watched, {
    grant: permissions,
    config,
    trust_tools: manifest.defaults?.trust_tools === true,
  });
  const workdir = join(root, "workdir");
  const order = { take: "record", prompt: session.prompt };
  const take = await runTake(host, {
    adapter: watchedId,
    workdir,
    session,
    mode: "play",
    request: { prompt: JSON.stringify(order) },
  });
  return { take, heard: heardIn(take), workdir };
}

/** Joins the pieces in which the kit's own adapter tells what it heard. */
function heardIn({ envelopes }: Take): Heard {
  const pieces = envelopes.flatMap(({ event }) => {
    if (event.type !== "progress" || !event.message.startsWith(kitMark)) return [];
    const { part, value } = JSON.parse(event.message.slice(kitMark.length)) as { part: string; value: unknown };
    return part === "record" && typeof value === "string" ? [value] : [];
  });
  const none: Heard = { runs: [], answers: [], sockets: 0, cut: false };
  return pieces.length === 0 ? none : JSON.parse(pieces.join("")) as Heard;
}

function demandSomething({ result, refused }: Take, { runs, answers }: Heard): SessionResult {
  const heardWork = [...runs, ...answers].some(({ probe }) => !probe);
  if (result !== null && heardWork) return result;
  const error = refused ?? result?.error;
  const why = error?.message ?? "it started no program and asked no server.";
  throw new BulkheadError("unsupported", `Cannot record the session: ${why}`, {
    hint: error?.hint,
  });
}

/** The output is the same again, unless it names a folder of this session alone. */
function expectationOf({ outcome, output }: SessionResult, root: string): NonNullable<ScriptedSession["expect"]> {
  const shown = output.trim().slice(0, 200);
  const kind = outcome === "completed" || outcome === "blocked" ? outcome : "error";
  return { outcome: kind, ...(shown === "" || shown.includes(root) ? {} : { output: shown }) };
}

/** Reads the files that the agent left, as far as they are texts of a size for `conformance.yaml`. */
async function filesLeft(
  workdir: string,
  changed: readonly string[],
): Promise<{ left: Record<string, string>; notes: string[] }> {
  const left: Record<string, string> = {};
  const lost: string[] = [];
  for (const path of changed) {
    const text = Object.keys(left).length < mostFiles ? await plainText(join(workdir, path)) : null;
    if (text === null) lost.push(path);
    else left[path] = text;
  }
  const named = lost.slice(0, 5).join(", ") + (lost.length > 5 ? ` and ${lost.length - 5} more` : "");
  return { left, notes: lost.length === 0 ? [] : [`A replay does not change ${named}: no text, too large, or gone.`] };
}

async function plainText(file: string): Promise<string | null> {
  const bytes = await readFile(file).catch(() => null);
  if (bytes === null || bytes.length > mostFileBytes) return null;
  const text = utf8Text(bytes);
  return text?.includes("\0") ? null : text;
}

function lacking({ runs, sockets, cut }: Heard): string[] {
  return [
    ...(sockets > 0 ? ["It opened a WebSocket, which conformance.yaml cannot play."] : []),
    ...(cut ? ["It was told more than is kept: the end is missing."] : []),
    ...(runs.some(({ probe, exit_code }) => !probe && exit_code === null)
      ? ["A program was ended by a signal: the replay exits with 0 there."]
      : []),
  ];
}
