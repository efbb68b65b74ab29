import { parseJson } from "../../../../plugin-sdk/json-fields.ts";
import { closeSync, openSync, renameSync, writeSync } from "node:fs";
import { readFile, rm } from "../files/files.ts";
import { randomId } from "../files/hash.ts";
import { pid, runtimeVersion } from "../engine/platform.ts";
import { processStart } from "./process-rows.ts";
import { killTrees } from "./process-tree.ts";
import { systemId } from "./system-id.ts";
import { tellRefusal } from "../state/write-faults.ts";

/** One child process in the ledger. */
export interface LedgerChild {
  pid: number;
  /** Result of `processStart()`; null where it cannot be read. */
  start: string | null;
  role: "agent" | "warden";
  session_id?: string;
}

/** The first line: the host that owns these children. */
interface LedgerHead {
  ledger: 1;
  /** Prefix of every child's environment mark. */
  mark: string;
  pid: number;
  start: string | null;
  /** System in which these pids are valid; see `systemId()`. */
  system: string | null;
  runtime: string;
  host_version: string;
}

/** Records every child process of this host, so that the next host finds those left by a SIGKILL. */
export interface ChildLedger {
  /** Prefix of every child's mark, followed by a point. */
  readonly mark: string;
  /** Records a child; call the result when it is gone. Never throws. */
  add(child: LedgerChild): () => void;
  /** Kills all remaining children, without a grace. */
  killAll(): Promise<void>;
  /** Removes the file, unless a child still runs: then the next host finds it. */
  close(): Promise<void>;
}

/** Result of {@link reapChildren}. */
export interface Reaped {
  head: LedgerHead;
  /** The host still runs: this ledger lies in a copy of its folder, and its children are its own. */
  hostLives: boolean;
  /** Children that still ran, by pid and start; more may have been found by their mark. */
  found: LedgerChild[];
}

/** Lines of children that are gone, after which the file is rewritten. */
const maxStale = 1024;

/** Starts a ledger and overwrites an existing one; reap that one first. */
export function startChildLedger(file: string, { hostVersion }: { hostVersion: string }): ChildLedger {
  const head: LedgerHead = {
    ledger: 1,
    mark: randomId(),
    pid,
    start: processStart(pid),
    system: systemId(),
    runtime: runtimeVersion,
    host_version: hostVersion,
  };
  const live = new Set<LedgerChild>();
  const log: AppendLog = startAppendLog(file, [JSON.stringify(head)]);
  let stale = 0;
  let isComplete = true;
  const written = (act: () => void): void => {
    try {
      act();
      isComplete = true;
    } catch {
      // A full disk: the child is still found by its mark, which the first line holds.
      isComplete = false;
    }
  };
  const writeAgain = () => written(() => log.replace([head, ...live].map((line) => JSON.stringify(line))));
  return {
    mark: head.mark,
    add(child) {
      live.add(child);
      if (isComplete) written(() => log.append(JSON.stringify(child)));
      else writeAgain();
      return () => {
        if (!live.delete(child) || ++stale < maxStale) return;
        stale = 0;
        writeAgain();
      };
    },
    async killAll() {
      await killTrees({ roots: rootsOf([...live]), mark: head.mark, graceMs: 0 });
    },
    async close() {
      log.close();
      if (live.size === 0) await rm(file, { force: true });
    },
  };
}

/**
 * Ends the remaining children in the ledger of a host that is gone, with their descendants.
 * Leaves a reused pid alone: a child counts as found only where pid, start time and system agree, or where it has the
 * mark in its environment. Null when there is no ledger; in a copy of a running host's folder nothing ends.
 */
export async function reapChildren(file: string, { graceMs }: { graceMs: number }): Promise<Reaped | null> {
  const [head, ...children] = parse(await readFile(file, "utf8").catch(() => ""));
  if (head === undefined || !("ledger" in head)) return null;
  const isHere = head.system !== null && head.system === systemId();
  if (isHere && head.pid !== pid && isThere(head)) return { head, hostLives: true, found: [] };
  const found = isHere ? children.filter((line) => "role" in line).filter(isThere) : [];
  await killTrees({ roots: rootsOf(found), mark: head.mark, graceMs });
  return { head, hostLives: false, found };
}

function isThere({ pid, start }: Pick<LedgerChild, "pid" | "start">): boolean {
  return start !== null && processStart(pid) === start;
}

function rootsOf(children: readonly LedgerChild[]): { pid: number; startTime: string }[] {
  return children.flatMap(({ pid, start }) => (start === null ? [] : [{ pid, startTime: start }]));
}

/** Parses the lines; the last may be cut off, and an unknown line is skipped. */
function parse(text: string): (LedgerHead | LedgerChild)[] {
  return text.split("\n").flatMap((line) => {
    const value = parseJson(line);
    return isHead(value) || isChild(value) ? [value] : [];
  });
}

function isHead(value: unknown): value is LedgerHead {
  return isRecord(value) && value["ledger"] === 1 && typeof value["host_version"] === "string" &&
    typeof value["mark"] === "string" && value["mark"].length === 32;
}

function isChild(value: unknown): value is LedgerChild {
  return isRecord(value) && typeof value["role"] === "string" && Number.isInteger(value["pid"]) &&
    (value["start"] === null || typeof value["start"] === "string");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** A text file that grows by lines. Each is written synchronously, so it survives a crash of this process. */
interface AppendLog {
  /** @throws {Error} of the file system, which may have taken a part of the line: replace all lines then */
  append(line: string): void;
  replace(lines: readonly string[]): void;
  close(): void;
}

/** Creates or replaces such a file with its first lines; only its owner may read it. */
function startAppendLog(file: string, lines: readonly string[]): AppendLog {
  let handle = begin(file, lines);
  return {
    append: (line) => told(file, () => writeAll(handle, `${line}\n`)),
    replace(newLines) {
      const before = handle;
      handle = told(file, () => begin(file, newLines));
      closeSync(before);
    },
    close: () => closeSync(handle),
  };
}

function told<T>(file: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    tellRefusal(file, error);
    throw error;
  }
}

/** The handle goes along when the file is renamed. */
function begin(file: string, lines: readonly string[]): number {
  const next = `${file}.next`;
  const handle = openSync(next, "w", 0o600);
  try {
    writeAll(handle, lines.map((line) => `${line}\n`).join(""));
    renameSync(next, file);
    return handle;
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

/** A disk with little room takes a part without an error. */
function writeAll(handle: number, text: string): void {
  for (let left = new TextEncoder().encode(text); left.length > 0;) left = left.subarray(writeSync(handle, left));
}
