import { type ConfigEntry, configText } from "./config-text.ts";
import { refused } from "./git-folder.ts";

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

/** Config of a private git folder. */
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
