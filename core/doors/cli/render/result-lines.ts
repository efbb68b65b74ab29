import type { Artifact, HostUses, SessionResult, UsageReport } from "../../../../plugin-sdk/result.ts";
import { readGrantCommand } from "../../../ground/config/grant-command.ts";
import type { GitChange } from "../../../../plugin-sdk/git-changes.ts";
import { safeLine } from "./agent-text.ts";
import { boxLines } from "./box-lines.ts";
import { heldHeadline, heldLines, scriptLines, settleHint } from "./held-lines.ts";
import { hintLines, stackLines } from "./message-lines.ts";
import { outcomeLooks, type Paint, type Tone } from "./paint.ts";
import { formatCost } from "../../../../plugin-sdk/currency.ts";
import { formatBytes, formatCount, formatDuration, lineCounts, plural } from "./quantities.ts";
import { shortId, shortIds } from "../../../ground/log/short-id.ts";
import { type Cell, tableLines } from "./table.ts";
import { fitLine, wrapText } from "./text-width.ts";
import { asTyped } from "./as-typed.ts";

interface ResultLineOptions {
  paint: Paint;
  columns: number;
  events: number;
  /** Name the session, where nothing around the lines does. */
  named?: boolean;
  /** Show where in a plugin's files any error was thrown, for its author. */
  verbose?: boolean;
  indent?: number;
}

const shownArtifacts = 20;
const shownHosts = 20;
const shownMessageLines = 8;

/** Formats a result: how it ended, its usage, its changes, and why it failed. */
export function resultLines(result: SessionResult, options: ResultLineOptions): string[] {
  const { indent = 0 } = options;
  const lines = [
    ...headline(result, options),
    ...errorLines(result, options),
    ...substitutionLines(result, options),
    ...usageLine(result.usage, options),
    ...wireLine(result.usage, options),
    ...boxLines(result, options),
    ...hostLines(result, options),
    ...artifactLines(result, options),
    ...gitLines(result, options),
    ...leftLines(result, options),
    ...workspaceLine(result, options),
  ];
  return lines.map((line) => " ".repeat(indent) + line);
}

function headline(
  result: SessionResult,
  { paint, columns, events, named = false, indent = 0 }: ResultLineOptions,
): string[] {
  const [mark, tone] = outcomeLooks[result.outcome];
  const facts = [
    safeLine(result.stop_reason),
    formatDuration(result.usage.duration_ms),
    plural(events, "event"),
    ...(result.attempts.length > 1 ? [plural(result.attempts.length, "attempt")] : []),
    ...(named ? [`session ${shortId(result.session_id)}`] : []),
  ];
  const begin = `${mark} ${safeLine(result.outcome)}`;
  const [first = "", ...rest] = wrapText(`${begin} · ${facts.join(" · ")}`, columns - indent - 2, shownMessageLines);
  const said = first.slice(begin.length).trimStart();
  return [`${paint(tone, begin)} ${paint("dim", said)}`.trimEnd(), ...rest.map((line) => `  ${paint("dim", line)}`)];
}

function errorLines(result: SessionResult, { paint, columns, verbose = false }: ResultLineOptions): string[] {
  if (result.error === undefined) return [];
  const { code, message, hint } = result.error;
  return [
    // The end of the message is often the part that a person needs.
    ...wrapText(safeLine(shortIds(`${code}: ${message}`)), columns - 6, shownMessageLines).map((line) =>
      `  ${paint("red", line)}`
    ),
    ...stackLines(result.error, { faultsOnly: !verbose }).map((line) =>
      `  ${paint("dim", fitLine(line, columns - 6))}`
    ),
    ...[...hintLines(hint, columns - 6), ...hintLines(explainAll(hint), 0)].map((line) => `  ${paint("dim", line)}`),
  ];
}

/** Names the command that shows all that a plugin asks for, where a hint grants the one thing that was denied first. */
export function explainAll(hint: string | undefined): string | undefined {
  const id = hint === undefined ? undefined : readGrantCommand(hint)?.pluginId;
  return id === undefined ? undefined : `all that ${id} asks for: bulkhead plugin explain ${id}`;
}

/** Lists the differences between the request and the session: other adapters, and limits not enforced. */
function substitutionLines(
  { substitutions, effective }: SessionResult,
  { paint, columns }: ResultLineOptions,
): string[] {
  const chain = [substitutions[0]?.from, ...substitutions.map(({ to }) => to)];
  const taken = substitutions.length === 0 ? [] : [`tried in turn: ${chain.join(", ")}`];
  const open = effective.unenforced.length === 0 ? [] : [`not enforced: ${effective.unenforced.join(", ")}`];
  const told = effective.budget_basis === "reported" ? ["budget held by the agent's own word: it may be passed"] : [];
  return [...taken, ...open, ...told].map((text) => `  ${paint("yellow", fitLine(safeLine(text), columns - 4))}`);
}

/** Lists the hosts that the session called, those it was refused, and those it could do without. */
function hostLines({ metadata: { permissions } }: SessionResult, { paint, columns }: ResultLineOptions): string[] {
  const hosts = Object.entries(permissions.hosts ?? {});
  const listed = (word: string, tone: Tone, decision: keyof HostUses) => {
    const called = hosts.map(([host, uses]) => ({ host, times: uses[decision] ?? 0 })).filter(({ times }) => times > 0);
    if (called.length === 0) return [];
    const names = called.slice(0, shownHosts).map(({ host, times }) =>
      times === 1 ? safeLine(host) : `${safeLine(host)} (${formatCount(times)} times)`
    );
    const rest = called.length > shownHosts ? [`and ${called.length - shownHosts} more`] : [];
    return wrapText(`${word}: ${[...names, ...rest].join(", ")}`, columns - 4, shownMessageLines)
      .map((line) => `  ${paint(tone, line)}`);
  };
  return [
    ...listed("hosts called", "dim", "allowed"),
    ...listed("hosts denied", "yellow", "denied"),
    ...listed("hosts denied that it does not need", "dim", "not_needed"),
  ];
}

function usageLine(usage: UsageReport, { paint, columns }: ResultLineOptions): string[] {
  const least = usage.partial === true ? "at least " : "";
  const facts = [
    ...(usage.tokens_in === null ? [] : [`${least}${formatCount(usage.tokens_in)} tokens in`]),
    ...(usage.tokens_out === null ? [] : [`${formatCount(usage.tokens_out)} out`]),
    ...(usage.tokens_used === undefined ? [] : [`${formatCount(usage.tokens_used)} tokens`]),
    ...(usage.requests === undefined ? [] : [plural(usage.requests, "request")]),
    ...costOf(usage),
    ...(usage.model === null ? [] : [safeLine(usage.model)]),
  ];
  return facts.length === 0 ? [] : [`  ${paint("dim", fitLine(facts.join(" · "), columns - 4))}`];
}

/** Tells what the host saw of the agent's calls of its model, and where the agent tells otherwise. */
function wireLine({ wire }: UsageReport, { paint, columns }: ResultLineOptions): string[] {
  if (wire === undefined) return [];
  const { calls, unknown, tokens_in, tokens_out, tokens_cached, counted, reported_tokens } = wire;
  const facts = [
    `seen: ${plural(calls, "model call")}${unknown === 0 ? "" : `, ${unknown} without whole figures`}`,
    `${formatCount(tokens_in)} tokens in${tokens_cached === 0 ? "" : `, ${formatCount(tokens_cached)} of them cached`}`,
    `${formatCount(tokens_out)} out`,
    ...(unknown === 0 || counted === undefined ? [] : [`a budget counts ${formatCount(counted.tokens)}`]),
  ];
  const differs = reported_tokens === undefined ? [] : [
    `  ${paint("yellow", fitLine(`the agent reports ${formatCount(reported_tokens)} tokens instead`, columns - 4))}`,
  ];
  return [`  ${paint("dim", fitLine(facts.join(" · "), columns - 4))}`, ...differs];
}

/** Usage that a plan covers must not look as if it had been billed. */
function costOf({ cost, currency, basis }: UsageReport): string[] {
  if (cost === null || (cost === 0 && currency === null)) return [];
  return [`${basis === "estimated" ? "about " : ""}${formatCost(cost, currency)}`];
}

function sharedText(sessions: number): string {
  return sessions === 1
    ? "another session worked here: some changes may be its"
    : `${sessions} other sessions worked here: some changes may be theirs`;
}

function artifactLines(result: SessionResult, { paint, columns }: ResultLineOptions): string[] {
  const wrapped = (text: string, tone: Tone) =>
    wrapText(text, columns - 4, shownMessageLines).map((line) => `  ${paint(tone, line)}`);
  const claimed = result.claimed_only.flatMap((path) =>
    wrapped(`claimed, but git shows no change: ${fitLine(safeLine(path), columns - 4)}`, "yellow")
  );
  const shared = result.artifacts_shared_with?.length ?? 0;
  if (shared > 0 && result.artifacts?.length !== 0) claimed.push(...wrapped(sharedText(shared), "yellow"));
  if (result.artifacts === null) {
    // The command itself asked for none.
    if (result.artifacts_reason === "not_asked") return claimed;
    return [...wrapped(`changed files unknown: ${safeLine(reasonWords(result.artifacts_reason))}`, "dim"), ...claimed];
  }
  if (result.artifacts.length === 0) return [`  ${paint("dim", "no files changed")}`, ...claimed];
  const rows = result.artifacts.slice(0, shownArtifacts).map(artifactRow);
  const more = result.artifacts.length - rows.length + (result.artifacts_omitted ?? 0);
  return [
    ...tableLines(rows, { paint, columns: columns - 2, indent: 2 }),
    ...(more > 0 ? [`  ${paint("dim", `and ${formatCount(more)} more`)}`] : []),
    ...claimed,
  ];
}

/** Says in plain words why changes are unknown. */
function reasonWords(reason = "git cannot tell"): string {
  const words: Readonly<Record<string, string>> = {
    host_restarted: "the host was restarted",
    machine_lost: "the machine that ran it was lost",
    git_missing: "there is no git",
    workdir_missing: "the folder is gone",
    not_started: "the session did not start",
  };
  return Object.hasOwn(words, reason) ? words[reason]! : reason;
}

/** Names changes that can run programs: above all, what waits for a person's word. */
function leftLines(
  { held = [], install_scripts = [], session_id, effective }: SessionResult,
  { paint, columns }: ResultLineOptions,
): string[] {
  const options = { paint, columns: columns - 4 };
  const settle = held.length > 0 && effective.workspace === "inplace" ? [paint("cyan", settleHint(session_id))] : [];
  const lines = [...heldLines(held, options), ...scriptLines(install_scripts, options), ...settle];
  const head = held.length === 0 ? [] : [paint("red", heldHeadline(held.length))];
  return [...head, ...lines].map((line) => `  ${line}`);
}

/** Says how to get changes that are not in the person's folder yet. */
function workspaceLine({ effective, artifacts, session_id }: SessionResult, { paint }: ResultLineOptions): string[] {
  if (effective.workspace !== "worktree" || artifacts?.length === 0) return [];
  return [
    `  ${
      paint("cyan", asTyped(`in a worktree of its own: bulkhead session diff|apply|discard ${shortId(session_id)}`))
    }`,
  ];
}

function artifactRow(artifact: Artifact): Cell[] {
  const looks: { readonly [C in Artifact["change"]]: [string, Tone] } = {
    created: ["+", "green"],
    untracked: ["+", "green"],
    modified: ["~", "yellow"],
    renamed: ["~", "yellow"],
    deleted: ["-", "red"],
  };
  const [mark, tone] = looks[artifact.change];
  const path = artifact.from === undefined ? artifact.path : `${artifact.path} (was ${artifact.from})`;
  return [
    { text: `${mark} ${artifact.change === "untracked" ? "created" : artifact.change}`, tone },
    safeLine(path),
    { text: sizeOf(artifact), tone: "dim" },
  ];
}

/** Says how large a change is: in lines, else in bytes of the file; nothing where neither is known. */
function sizeOf({ lines, bytes }: Artifact): string {
  if (lines !== undefined && lines.added + lines.removed > 0) return lineCounts(lines);
  return bytes === null ? "" : formatBytes(bytes);
}

const shownChanges = 20;

const words: Readonly<Record<GitChange["outcome"], string>> = {
  moved: "taken over",
  kept: "kept",
  held: "held, to be looked at first",
  left: "not taken over",
};

/** Lists what the agent did with git, each with the command that brings back what did not move. */
function gitLines({ session_id, git_changes: changes = [] }: SessionResult, { paint }: { paint: Paint }): string[] {
  if (changes.length === 0) return [];
  const lines = changes.slice(0, shownChanges).flatMap((change) => changeLines(change, paint));
  const more = changes.length - shownChanges;
  if (more > 0) {
    lines.push(paint("dim", `and ${formatCount(more)} more: bulkhead session events ${shortId(session_id)}`));
  }
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
