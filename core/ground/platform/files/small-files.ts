import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { absent, isMissing } from "../../errors/write-fault.ts";
import { randomId } from "./hash.ts";
import { tellRefusal } from "../state/write-faults.ts";

// Small files of our own in the user's folders. To wait for each of them takes ten times as long as to read it at once.

/** Names in a folder; none where there is no such folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    return absent(error) ?? [];
  }
}

/** Reads a small file of JSON; null where it is not there, or not as it was written. */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return absent(error);
  }
}

/** Writes a small file of this user alone, all of it or nothing. */
export function putText(file: string, text: string): void {
  const draft = `${file}.${randomId()}`;
  try {
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, file);
  } catch (error) {
    tellRefusal(file, error);
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Whether anything stands at a path, or might: it cannot be looked at. */
export function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    return !isMissing(error);
  }
}

/** Removes a file or a folder, there or not. */
export function removeNow(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

/** Makes a folder of this user alone. */
export function makeOwnFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}
