import type { HeldChange, InstallScripts } from "../../../../plugin-sdk/held.ts";
import { safeLine } from "./agent-text.ts";
import { asTyped } from "./as-typed.ts";
import type { Paint } from "./paint.ts";
import { formatCount, plural } from "./quantities.ts";
import { shortId } from "../../../ground/log/short-id.ts";
import { wrapText } from "./text-width.ts";

interface HeldLineOptions {
  paint: Paint;
  columns: number;
  /** Changes to name at most; default: all. */
  most?: number;
}

/** Names each change that waits for a person's word, and the programs that act on it. */
export function heldLines(held: readonly HeldChange[], { paint, columns, most = Infinity }: HeldLineOptions): string[] {
  const shown = held.slice(0, most).flatMap((one) => [
    ...wrapText(`! ${heldText(one)}`, columns, mostLines).map((line) => paint("red", line)),
    ...wrapText(safeLine(`${one.by}: ${one.why}`), columns - 2, mostLines).map((line) => paint("dim", `  ${line}`)),
  ]);
  const more = held.length - Math.min(held.length, most);
  return more > 0 ? [...shown, paint("red", `and ${formatCount(more)} more`)] : shown;
}

/** Says how many changes wait. */
export function heldHeadline(count: number): string {
  return count === 1
    ? "1 change can run programs, and waits for you"
    : `${count} changes can run programs, and wait for you`;
}

/** Lines of one change. */
const mostLines = 6;

/** One change as a line: its path, and what it is. */
export function heldText({ path, change, kind, target, files }: HeldChange): string {
  const size = files === undefined ? "" : ` (${plural(files, "file")})`;
  return safeLine(`${path}${target === undefined ? "" : ` (leads to ${target})`}${size}: ${change} ${kindWords[kind]}`);
}

const kindWords: Readonly<Record<HeldChange["kind"], string>> = {
  repository: "git repository",
  git_settings: "settings of git",
  acted_on: "file that programs act on",
  link_out: "link that leads out",
  set_user_id: "program that runs with its owner's rights",
  device: "pipe, socket or device",
  unseen: "and not looked at",
};

/** Says how a person settles the changes of a session. */
export function settleHint(sessionId: string): string {
  return asTyped(`keep or remove them: bulkhead session held ${shortId(sessionId)}`);
}

/** Names packages whose scripts for an install changed. */
export function scriptLines(scripts: readonly InstallScripts[], { paint, columns }: HeldLineOptions): string[] {
  return scripts.flatMap(({ path, names }) =>
    wrapText(
      `! ${safeLine(path)}: npm install runs ${names.map(safeLine).join(", ")}, which changed`,
      columns,
      mostLines,
    )
      .map((line) => paint("yellow", line))
  );
}
