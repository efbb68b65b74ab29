import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { mkdir } from "../../../ground/platform/files/files.ts";
import { dirname, join } from "../../../ground/platform/files/paths.ts";
import { stateFolders } from "../../../ground/platform/state/state-folders.ts";
import { hostManifestName, isFile } from "../../../packages/manifest/find-host-manifest.ts";
import type { Invocation } from "../command.ts";
import { writeStarter } from "../commands/init.ts";
import { manifestFile } from "../open-host.ts";
import { Questions } from "../questions.ts";
import { safeLine } from "../render/agent-text.ts";

/** Words for the projects that a setup is for, to follow a verb; all are those of the user. */
export const forWords = { this: "for this project alone", all: "for all of your projects" } as const;

/** The host manifest that a setup writes. */
export interface SetupPlace {
  for: keyof typeof forWords;
  /** Absolute path. */
  file: string;
  exists: boolean;
}

/**
 * Returns the host manifest that the flags name, else the one in force here; null where there is none yet.
 * @throws {BulkheadError} `invalid_request` for `--for` beside `--config`, and as `findHostManifest` does
 */
export async function knownPlace(call: Invocation): Promise<SetupPlace | null> {
  const wanted = call.options["for"] as SetupPlace["for"] | undefined;
  if (wanted !== undefined && call.configFile !== undefined) {
    throw new BulkheadError("invalid_request", "Cannot use --for with --config: that names the file.", {
      hint: "Leave one of them out.",
    });
  }
  if (wanted === "all") return await placeFor(call, wanted);
  const file = await manifestFile(call);
  if (file === undefined || file === userFile() && wanted === "this") {
    return wanted ? await placeFor(call, wanted) : null;
  }
  return { for: file === userFile() ? "all" : "this", file, exists: true };
}

/** Asks whom a first host manifest is for: this project, where no person can say. Null: no answer. */
export async function choosePlace(call: Invocation): Promise<SetupPlace | null> {
  const { terminal, json, options } = call;
  const [all, one] = await Promise.all([placeFor(call, "all"), placeFor(call, "this")]);
  if (json || options["yes"] === true || !Questions.possible(terminal)) return one;
  const question = `For which projects?\n  all   ${safeLine(all.file)}\n  this  ${safeLine(one.file)}`;
  return await new Questions(terminal).choose(question, {
    choices: [{ word: "all of mine", value: all }, { word: "this one alone", value: one }],
  });
}

/** Makes the host manifest where it is missing. No schema comes with it: few people edit the file by hand. */
export async function makeManifest({ file, exists }: SetupPlace): Promise<void> {
  if (exists) return;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 }).catch(() => undefined);
  await writeStarter(file);
}

/** Says which other host manifest the user has, and which of the two counts here; null where there is no other. */
export async function otherManifest(call: Invocation, place: SetupPlace): Promise<string | null> {
  if (call.configFile !== undefined) return null;
  const [own, found] = [userFile(), await manifestFile(call)];
  const counts = place.for === "this" || found === undefined ? place.file : found;
  const other = counts === place.file ? own : place.file;
  if (counts === other || other !== place.file && !(await isFile(other))) return null;
  return `In this project ${safeLine(counts)} counts, and ${safeLine(other)} does not.`;
}

async function placeFor({ terminal }: Invocation, projects: SetupPlace["for"]): Promise<SetupPlace> {
  const file = projects === "all" ? userFile() : join(terminal.cwd, hostManifestName);
  return { for: projects, file, exists: await isFile(file) };
}

function userFile(): string {
  return join(stateFolders().config, hostManifestName);
}
