import type { HeldChange } from "../../../plugin-sdk/held.ts";
import { foldName } from "../../ground/platform/files/fold-name.ts";
import { guardedBy, isGitName } from "../../ground/platform/places/guarded-name.ts";

/** Why a change is held. */
export type Reason = Pick<HeldChange, "kind" | "by" | "why">;

/** An entry that a session made or changed. */
interface ChangedEntry {
  type: "file" | "folder" | "link" | "other";
  /** Mode as the system has it, with the bits of the owner's rights. */
  mode: number;
}

/** A git folder, or what makes git take a folder for one. */
export const asRepository: Reason = {
  kind: "repository",
  by: "git",
  why: "Git takes the programs of its hooks and settings from it, at the next command in this folder.",
};

/** A file of a git folder that names programs, or that git finds others by. */
export const asGitSettings: Reason = {
  kind: "git_settings",
  by: "git",
  why: "Git starts programs that this names, at the next status, commit, checkout or rebase.",
};

/** A link that leads out of the project. */
export const asLinkOut: Reason = {
  kind: "link_out",
  by: "programs that follow links",
  why: "What they read or write through it lies outside the project.",
};

const asSetUserId: Reason = {
  kind: "set_user_id",
  by: "people and programs that start it",
  why: "It runs with its owner's rights, for any user who starts it.",
};

const asDevice: Reason = {
  kind: "device",
  by: "programs that open it",
  why: "It is a pipe, a socket or a device: the program that made it may answer, or wait.",
};

/** A place that could not be looked at. */
export const asUnseen: Reason = {
  kind: "unseen",
  by: "any programs",
  why: "The host could not look at all of it: it is closed, its name cannot be read, or there is too much.",
};

/** Why a name is held wherever a session made it, with all that is below it; null for most. */
export function judgeName(name: string, { type }: Pick<ChangedEntry, "type">): Reason | null {
  if (isGitName(name)) return asRepository;
  // A package of this name is a folder; git reads a file.
  if (foldName(name) === "commondir" && (type === "file" || type === "link")) return asRepository;
  const group = guardedBy(name);
  return group === null ? null : { kind: "acted_on", by: group.by, why: group.why };
}

/** Why an entry is held whatever its name is; null for most. Links are judged by {@link leadsOut}. */
export function judgeEntry({ type, mode }: ChangedEntry): Reason | null {
  if (type === "other") return asDevice;
  return type === "file" && (mode & 0o6000) !== 0 ? asSetUserId : null;
}

/** Why a path is held, by the names in it, and the part of the path that is the reason; null for most. */
export function judgePath(path: string, entry: Pick<ChangedEntry, "type">): { root: string; reason: Reason } | null {
  const parts = path.split("/");
  const found = parts.flatMap((name, index) => {
    const reason = judgeName(name, index === parts.length - 1 ? entry : { type: "folder" });
    return reason === null ? [] : [{ root: parts.slice(0, index + 1).join("/"), reason }];
  });
  return found.find(({ reason }) => reason.kind === "repository") ?? found[0] ?? null;
}

/** Names that git asks for before it takes a folder for a repository. */
const ofRepository = new Set(["head", "objects", "refs"]);

/** Further files of a repository that name programs, or lead to others that do. */
const besideRepository = new Set([
  "commondir",
  "config",
  "config.worktree",
  "gitdir",
  "hooks",
  "info",
  "modules",
  "worktrees",
]);

/** Whether names look like a repository's. Two of three are enough: the third may come, or be spelled otherwise. */
export function looksLikeRepository(names: Iterable<string>): boolean {
  const found = new Set<string>();
  for (const name of names) {
    const folded = foldName(name);
    if (ofRepository.has(folded)) found.add(folded);
  }
  return found.size >= 2;
}

/** Whether a name, in a folder that looks like a repository, makes it one or runs programs there. */
export function isOfRepository(name: string): boolean {
  return ofRepository.has(foldName(name)) || isBesideRepository(name);
}

/** Whether a name, in a folder that looks like a repository, is one of those that name programs. */
export function isBesideRepository(name: string): boolean {
  return besideRepository.has(foldName(name));
}
