import type { GitChange } from "../../../../plugin-sdk/git-changes.ts";
import { safeLine } from "./agent-text.ts";
import type { Paint } from "./paint.ts";
import { formatCount } from "./quantities.ts";

const shownChanges = 20;

const words: Readonly<Record<GitChange["outcome"], string>> = {
  moved: "taken over",
  kept: "kept",
  held: "held, to be looked at first",
  left: "not taken over",
};

/** Lists what the agent did with git, each with the command that brings back what did not move. */
export function gitLines(changes: readonly GitChange[], { paint }: { paint: Paint }): string[] {
  if (changes.length === 0) return [];
  const lines = changes.slice(0, shownChanges).flatMap((change) => changeLines(change, paint));
  const more = changes.length - shownChanges;
  if (more > 0) lines.push(paint("dim", `and ${formatCount(more)} more: bulkhead session events`));
  const signed = changes.some(({ id }) => id !== undefined);
  return [...lines, ...(signed ? [paint("dim", "git: no hook ran, and nothing was signed")] : [])].map((line) =>
    `  ${line}`
  );
}

function changeLines({ name, outcome, id, kept_as, reason, command, submodule }: GitChange, paint: Paint): string[] {
  const shown = name.replace(/^refs\/heads\//, "");
  const where = submodule === undefined ? "" : ` in ${safeLine(submodule)}`;
  const commit = id === undefined || id === "" ? "" : ` ${id.slice(0, 10)}`;
  const why = reason === undefined ? "" : `: ${safeLine(reason)}`;
  const head = `git: ${safeLine(shown)}${where}${commit} ${words[outcome]}${why}`;
  // A command to copy is never shortened.
  const bring = command === undefined ? [] : [paint("dim", `  ${safeLine(command)}`)];
  if (outcome === "moved" && kept_as === undefined) return [paint("dim", head)];
  return [paint(outcome === "moved" ? "dim" : "yellow", head), ...bring];
}
