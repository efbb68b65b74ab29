import type { PreparedInstall } from "../../../packages/install/prepare-install.ts";
import { sourceText } from "../../../packages/install/source-policy.ts";
import type { LockedPlugin } from "../../../packages/manifest/lock-format.ts";
import { safeLine } from "./agent-text.ts";
import { askedLines, choiceLines } from "./permission-words.ts";
import { besideWalls, briefWallLines, type WallLineOptions } from "./wall-lines.ts";
import type { WaitingReport } from "../../../../plugin-sdk/plugin-report.ts";
import { asTyped } from "./as-typed.ts";

/** Lists the facts that an operator should know before a package is installed. */
export function installLines(
  { manifest, next, current, deprecated, entries, undecided, choices, programs }: PreparedInstall,
  { paint, columns }: WallLineOptions,
): string[] {
  const { id, name, version, description } = manifest;
  const from = current === null || current.version === version ? "" : ` (in use: ${current.version})`;
  return [
    `${paint("bold", id)} ${safeLine(version)}${from} · ${JSON.stringify(safeLine(name))}`,
    paint("dim", `  ${JSON.stringify(safeLine(description))}`),
    ...originLines(next),
    ...(deprecated === null ? [] : [
      `  ${paint("yellow", "its publisher says not to use this version:")} ${JSON.stringify(safeLine(deprecated))}`,
    ]),
    ...(undecided.length === 0
      ? [current === null ? "It asks for nothing that is not granted." : "It asks for nothing more."]
      : [
        current === null ? "It asks to" : "It asks for more than before, to",
        ...askedLines(besideWalls(undecided, programs), { paint, columns }),
        ...briefWallLines(programs, { paint, columns }),
      ]),
    ...(entries.length < 2 ? [] : [`What is granted goes to ${entries.join(", ")}, as far as each asks for it.`]),
    ...choiceLines(id, choices),
  ];
}

/** Describes an installed plugin's source, and who vouches for it. */
export function originLines({ source, integrity, files, signed_by, provenance }: LockedPlugin): string[] {
  return [
    `  from    ${safeLine(sourceText(source))}`,
    `  signed  ${signed_by === null ? "not signed" : `signed by registry key ${safeLine(signed_by)}`}`,
    `  built   ${provenance === null ? "no provenance" : `provenance verified: built by ${safeLine(provenance)}`}`,
    `  bytes   ${integrity ?? `sha256 of its files ${files}`}`,
  ];
}

/** Describes the permissions of a waiting update in a line, and the command that installs it. */
export function waitingLines(id: string, { version, asks, command }: WaitingReport): string[] {
  const why = asks.length === 0 ? "what it asks for is granted" : `it asks for more: ${asks.join(", ")}`;
  return [safeLine(`${id} ${version} waits; ${why}. To take it:`), `  ${safeLine(asTyped(command))}`];
}

/** Says that a daemon runs other code of a plugin than its files hold now, and how to change that. */
export function editedLine(pluginId: string): string {
  return `${safeLine(pluginId)}'s files changed since the daemon loaded them: ${asTyped("bulkhead reload")}`;
}
