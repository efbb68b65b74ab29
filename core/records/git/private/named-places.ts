import { dirname, isInside, join, resolve } from "../../../ground/runtime/paths.ts";
import { hostEnv } from "../../../ground/runtime/platform.ts";
import type { ConfigEntry } from "./config-text.ts";

/** Settings that are a command line, or the path of a program. */
const commands: readonly RegExp[] = [
  /^core\.(fsmonitor|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)$/,
  /^(filter\..+\.(clean|smudge|process)|diff\.external|diff\..+\.(command|textconv)|merge\..+\.driver)$/,
  /^((difftool|mergetool)\..+\.(cmd|path)|gpg\.program|gpg\..+\.program|credential\.(.+\.)?helper)$/,
  /^(alias\..+|pager\..+|sequence\.editor|interactive\.difffilter|hook\..+\.command|trailer\..+\.(command|cmd))$/,
  /^(remote\..+\.(uploadpack|receivepack)|uploadpack\.packobjectshook)$/,
];

const includes = /^(include|includeif\..+)\.path$/s;

/**
 * Places in a work tree that settings of git name: the folder of hooks, files with more settings, programs. Absolute
 * paths; nothing may be there.
 * @param options.file The settings are in this file; absolute.
 */
export function namedPlaces(entries: readonly ConfigEntry[], { top, file }: { top: string; file: string }): string[] {
  const named = entries.flatMap(({ key, value }) => {
    if (key === "core.hookspath") return [placeOf(value, top)];
    if (includes.test(key)) return [placeOf(value, dirname(file))];
    if (!commands.some((pattern) => pattern.test(key))) return [];
    // A program without a slash is looked for on the PATH.
    return value.split(/[\s"'`=;|&()<>!]+/).filter((word) => word.includes("/")).map((word) => placeOf(word, top));
  });
  return named.filter((place) => place !== top && isInside(top, place) && !isInside(join(top, ".git"), place));
}

function placeOf(value: string, from: string): string {
  const home = hostEnv("HOME");
  return value.startsWith("~/") && home !== undefined ? join(home, value.slice(2)) : resolve(from, value);
}
