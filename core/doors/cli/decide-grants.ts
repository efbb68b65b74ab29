import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { grantFlags, grantsFor, grantWord, isSameGrant } from "../../packages/install/asked-permissions.ts";
import type { PreparedInstall } from "../../packages/install/prepare-install.ts";
import type { NewGrant } from "../../packages/manifest/edit-host-manifest.ts";
import type { Invocation } from "./command.ts";
import { parseGrant } from "./parse-grant.ts";
import { Questions } from "./questions.ts";

/** The grants to write; null: do not install. */
type Decision = NewGrant[] | null;

/**
 * Decides which grants an installation gets: those named with `--grant`; with `--yes` all but the broad ones, which
 * allow more than they seem to; else the answers at the terminal. An update without a decision is kept as waiting.
 * @param command the command as typed, for the hint
 * @throws {BulkheadError} `grant_needed` where no terminal can ask; `invalid_config` for a grant that is not asked for
 */
export async function decideGrants(call: Invocation, install: PreparedInstall, command: string): Promise<Decision> {
  if (!(await takesDeprecated(call, install))) return null;
  try {
    const decision = await decide(call, install, command);
    if (decision === null) await install.wait(command);
    return decision;
  } catch (error) {
    if (error instanceof BulkheadError && error.code === "grant_needed") await install.wait(command);
    throw error;
  }
}

/**
 * Whether the operator takes a version although its publisher says not to.
 * @throws {BulkheadError} `invalid_package` where no terminal can ask
 */
async function takesDeprecated({ options, json, terminal }: Invocation, install: PreparedInstall): Promise<boolean> {
  const { id, deprecated, manifest: { version }, unchanged } = install;
  if (deprecated === null || unchanged || options["allowDeprecated"] === true) return true;
  if (!json && Questions.possible(terminal)) {
    const choices = [{ word: "yes", value: true }, { word: "no", value: false }];
    return await new Questions(terminal).choose("Install it all the same?", { choices }) ?? false;
  }
  const said = JSON.stringify(deprecated);
  const message = `Cannot install plugin "${id}" ${version}: its publisher says not to use this version: ${said}.`;
  throw new BulkheadError("invalid_package", message, {
    hint: "Ask for another version, as <package>@<version>. If this one is meant, say --allow-deprecated.",
    details: { plugin_id: id, version },
  });
}

async function decide(call: Invocation, install: PreparedInstall, command: string): Promise<Decision> {
  const { options, terminal } = call;
  const wanted = grantsFor(install.id, install.undecided);
  const named = ((options["grant"] ?? []) as string[]).map((typed) => ({ pluginId: install.id, ...parseGrant(typed) }));
  const stray = named.find((grant) => !wanted.some((one) => isSameGrant(one, grant)));
  if (stray !== undefined) throw notAsked(install.id, stray, wanted);
  const left = wanted.filter((grant) => !named.some((one) => isSameGrant(one, grant)));
  if (left.length === 0) return named;
  const broad = left.filter((grant) => isBroad(install, grant));
  if (options["yes"] === true) {
    if (broad.length > 0) throw needed(install, { left: broad, wanted, command, yes: true });
    return wanted;
  }
  // A new plugin may run with fewer grants; an update would use an old grant that covers it by name alone.
  if (named.length > 0 && install.current === null) return named;
  if (named.length > 0 || call.json || !Questions.possible(terminal)) throw needed(install, { left, wanted, command });
  const isNew = install.current === null;
  const question = `${isNew ? "Install" : "Update"} it and grant all of this?`;
  return await askForAll(call, { question, wanted, without: isNew });
}

/** Asks whether a plugin gets all that it asks for; null: nothing is done. */
export async function askForAll(
  { terminal }: Invocation,
  { question, wanted, without = true }: { question: string; wanted: NewGrant[]; without?: boolean },
): Promise<Decision> {
  const answer = await new Questions(terminal).choose<"grant" | "without" | "no">(question, {
    choices: [
      { word: "grant", value: "grant" },
      ...(without ? [{ word: "without", value: "without" } as const] : []),
      { word: "no", value: "no" },
    ],
  });
  if (answer === "grant") return wanted;
  return answer === "without" ? [] : null;
}

function isBroad({ id, undecided }: PreparedInstall, grant: NewGrant): boolean {
  return undecided.some((row) =>
    row.breadth !== "bounded" && grantsFor(id, [row]).some((one) => isSameGrant(one, grant))
  );
}

function needed(
  { id, manifest, current }: PreparedInstall,
  { left, wanted, command, yes = false }: { left: NewGrant[]; wanted: NewGrant[]; command: string; yes?: boolean },
): BulkheadError {
  const flags = grantFlags(wanted).join(" ");
  const words = left.map(grantWord).join(", ");
  const what = current === null
    ? `Cannot install plugin "${id}" ${manifest.version}: missing grants: ${words}.`
    : `Cannot update plugin "${id}" to ${manifest.version}: it asks for more, and missing grants: ${words}. ` +
      `Version ${current.version} stays in use.`;
  return new BulkheadError("grant_needed", what, {
    hint: `${yes ? "--yes grants nothing that is more than it seems. " : ""}To grant it: ${command} ${flags}`,
    details: {
      plugin_id: id,
      version: manifest.version,
      version_in_use: current?.version ?? null,
      missing: left.map(grantWord),
      asked: wanted.map(grantWord),
    },
  });
}

/** The error for a grant that a plugin does not ask for. */
export function notAsked(id: string, stray: NewGrant, wanted: readonly NewGrant[]): BulkheadError {
  return new BulkheadError(
    "invalid_config",
    `Cannot grant ${grantWord(stray)}: plugin "${id}" does not ask for it now.`,
    {
      hint: `It asks for: ${wanted.map(grantWord).join(", ") || "nothing that is not granted"}.`,
    },
  );
}
