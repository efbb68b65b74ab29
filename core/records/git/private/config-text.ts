import { dirname, isInside, join, resolve } from "../../../ground/platform/files/paths.ts";
import { hostEnv } from "../../../ground/platform/engine/platform.ts";
import { refused } from "./git-folder.ts";

/** One setting of a git config file (git-config(1), "Syntax"). */
interface ConfigEntry {
  /** Section and name in lower case, the part between them as it is: `remote.origin.url`. */
  key: string;
  value: string;
}

/** Reads the text of a git config file. Includes are not followed. Leaves out what is no setting. */
export function parseConfig(text: string): ConfigEntry[] {
  const entries: ConfigEntry[] = [];
  let section = "";
  for (const line of joined(text)) {
    const head = /^\s*\[\s*([-.\w]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)$/.exec(line);
    const rest = head === null ? line : head[3] ?? "";
    if (head !== null) {
      const sub = head[2]?.replace(/\\(.)/g, "$1");
      section = head[1]!.toLowerCase() + (sub === undefined ? "" : `.${sub}`);
    }
    const setting = /^\s*([A-Za-z][-\w]*)\s*(?:=\s*(.*))?$/.exec(rest);
    if (setting === null || section === "") continue;
    // A name without a value is a true boolean.
    entries.push({ key: `${section}.${setting[1]!.toLowerCase()}`, value: unquoted(setting[2] ?? "true") });
  }
  return entries;
}

/** Lines, with those that a backslash continues as one. */
function joined(text: string): string[] {
  return text.replace(/^\ufeff/, "").replace(/\r\n/g, "\n").replace(/([^\\](?:\\\\)*)\\\n/g, "$1").split("\n");
}

/** A value without quotes, escapes, comment and blanks around it. */
function unquoted(raw: string): string {
  let value = "";
  let kept = 0;
  let isQuoted = false;
  for (let at = 0; at < raw.length; at++) {
    const one = raw[at]!;
    if (one === '"') {
      isQuoted = !isQuoted;
      kept = value.length;
    } else if (one === "\\") {
      const next = raw[++at] ?? "";
      value += { n: "\n", t: "\t", b: "\b" }[next] ?? next;
      kept = value.length;
    } else if (!isQuoted && (one === "#" || one === ";")) break;
    else {
      value += one;
      if (isQuoted || !/\s/.test(one)) kept = value.length;
    }
  }
  return value.slice(0, kept);
}

/** Writes settings as a git config file. */
export function configText(entries: readonly ConfigEntry[]): string {
  return entries.map(({ key, value }) => {
    const first = key.indexOf(".");
    const last = key.lastIndexOf(".");
    const sub = last === first ? "" : ` "${key.slice(first + 1, last).replace(/["\\]/g, "\\$&")}"`;
    return `[${key.slice(0, first)}${sub}]\n\t${key.slice(last + 1)} = ${quoted(value)}\n`;
  }).join("");
}

/** Writes a value between quotes. */
export function quoted(value: string): string {
  return `"${value.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t")}"`;
}

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

/** Settings of a repository that a private git folder has as well. None names a program, a file or an includable place. */
const allowed: readonly RegExp[] = [
  /^core\.(filemode|ignorecase|precomposeunicode|autocrlf|eol|safecrlf|symlinks|trustctime|checkstat)$/,
  /^core\.(sparsecheckout|sparsecheckoutcone|bigfilethreshold|compression|loosecompression|logallrefupdates)$/,
  /^core\.(quotepath|whitespace|abbrev|commentchar|preloadindex|protecthfs|protectntfs)$/,
  /^(user|author|committer)\.(name|email)$/,
  /^user\.useconfigonly$/,
  /^remote\..+\.(url|pushurl|fetch|push|tagopt|prune|mirror|promisor|partialclonefilter)$/,
  /^remote\.pushdefault$/,
  /^branch\..+\.(remote|merge|rebase|pushremote|description)$/,
  /^branch\.(autosetupmerge|autosetuprebase|sort)$/,
  /^submodule\..+\.(url|active|branch|ignore|fetchrecursesubmodules)$/,
  /^(init\.defaultbranch|checkout\.defaultremote|tag\.sort|status\.\w+|diff\.(algorithm|renames|renamelimit))$/,
  /^(pull\.(rebase|ff)|push\.(default|autosetupremote|followtags)|fetch\.(prune|prunetags))$/,
  /^merge\.(ff|conflictstyle|renames|renamelimit|directoryrenames|log|autostash)$/,
  /^(rebase\.(autosquash|autostash|updaterefs)|rerere\.(enabled|autoupdate)|index\.version)$/,
];

/** Extensions of a repository's format that a private git folder can have. */
const formats = ["objectformat", "partialclone", "preciousobjects", "noop", "noop-v1"];

/** Extensions that only say how files are laid out: a private git folder has its own layout. */
const layouts = ["worktreeconfig", "relativeworktrees"];

/** Settings that stand against the person's own, which an agent's git reads as well: no hook runs, nothing is signed. */
const own: readonly ConfigEntry[] = [
  { key: "core.bare", value: "false" },
  { key: "core.hookspath", value: "/dev/null" },
  { key: "core.fsmonitor", value: "false" },
  { key: "commit.gpgsign", value: "false" },
  { key: "tag.gpgsign", value: "false" },
  { key: "tag.forcesignannotated", value: "false" },
  { key: "push.gpgsign", value: "false" },
  { key: "submodule.recurse", value: "false" },
];

interface PrivateConfig {
  text: string;
  /** `sha1` or `sha256`. */
  objectFormat: string;
  /** The remote that has the objects which a partial clone lacks; null for a whole repository. */
  promisor: string | null;
}

/**
 * Makes the config of a private git folder from that of its repository.
 * @throws {BulkheadError} `unsupported` for a format of repository that it cannot have
 */
export function privateConfig(entries: readonly ConfigEntry[], repository: string): PrivateConfig {
  const extensions = entries.filter(({ key }) => key.startsWith("extensions."));
  for (const { key, value } of extensions) {
    const name = key.slice("extensions.".length);
    if (name === "refstorage" && value === "files") continue;
    if (!formats.includes(name) && !layouts.includes(name)) {
      throw refused(repository, `its format "${name}" is not known`);
    }
  }
  const valueOf = (key: string) => entries.findLast((entry) => entry.key === key)?.value;
  const objectFormat = valueOf("extensions.objectformat") ?? "sha1";
  if (objectFormat !== "sha1" && objectFormat !== "sha256") throw refused(repository, "its object format is not known");
  const version = valueOf("core.repositoryformatversion") ?? "0";
  if (version !== "0" && version !== "1") throw refused(repository, `its format version ${version} is not known`);
  const kept = extensions.filter(({ key }) => formats.includes(key.slice("extensions.".length)));
  return {
    text: configText([
      { key: "core.repositoryformatversion", value: kept.length > 0 ? "1" : "0" },
      ...kept,
      ...entries.filter(({ key, value }) => allowed.some((pattern) => pattern.test(key)) && !value.includes("\0")),
      ...own,
    ]),
    objectFormat,
    promisor: valueOf("extensions.partialclone") ?? null,
  };
}
