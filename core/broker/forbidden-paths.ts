import { isInside, relative } from "../runtime/paths.ts";

/** What {@link forbiddenBecause} looks at. */
export interface ForbiddenOptions {
  access: "read" | "write";
  /** The root that the path stands in, granted or to be granted. */
  root: string;
  /** Real absolute paths of the host's own. */
  protectedPaths: readonly string[];
  /** Real absolute paths that are never written: the packages of plugins. */
  sealedPaths: readonly string[];
  /** The plugin's data folder: open although it is in a protected place. */
  dataDir: string;
  /** Top of the session's own worktree: open although it is in a protected place. */
  workspaceDir?: string | undefined;
  /** Names beside the built-in ones. */
  autoexecNames: readonly string[];
}

/**
 * Why no grant opens a real path, or null: pseudo file systems, the host's own state, and, for writing, names below a
 * granted root that programs act on by themselves (a root that the operator spelled out is meant).
 */
export function forbiddenBecause(path: string, options: ForbiddenOptions): string | null {
  if (isPseudoFile(path)) return "it is in a pseudo file system";
  if (isKvFile(path, options.dataDir)) return "it is the key-value store's own file";
  const isProtected = options.protectedPaths.some((root) => isInside(root, path));
  const { dataDir, workspaceDir } = options;
  const isOwn = isInside(dataDir, path) || (workspaceDir !== undefined && isInside(workspaceDir, path));
  if (isProtected && !isOwn) return "it belongs to the host";
  if (options.access === "write") {
    if (options.sealedPaths.some((root) => isInside(root, path))) return "it belongs to a plugin's package";
    const below = relative(options.root, path).split(/[\\/]/);
    const extra = new Set(options.autoexecNames.map(foldName));
    const found = below.find((name) => autoexecNames.has(foldName(name)) || extra.has(foldName(name)));
    if (found !== undefined) return `programs act on "${found}" by themselves`;
  }
  return null;
}

/** True for what the kernel says of itself, of programs and of devices: no real path in there is a file of anybody's work. */
export function isPseudoFile(path: string): boolean {
  return pseudoRoots.some((root) => isInside(root, path));
}

/** Where a plugin's key-value store is. */
export function kvFile(dataDir: string): string {
  return `${dataDir}/kv.json`;
}

function isKvFile(path: string, dataDir: string): boolean {
  return path === kvFile(dataDir);
}

/**
 * A name as the most forgiving file system reads it: case, composition, ignored code points (HFS+, see CVE-2014-9390),
 * dots and blanks at the end and alternate streams (NTFS) make no difference.
 */
export function foldName(name: string): string {
  const visible = name.normalize("NFKC").replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "");
  return visible.toLowerCase().replace(/:.*$/s, "").replace(/[. ]+$/, "");
}

const pseudoRoots = ["/proc", "/sys", "/dev"];

/** Files and folders that shells, git, editors, package managers, debuggers and tool hosts run code from. */
const autoexecNames: ReadonlySet<string> = new Set([
  ".bash_aliases",
  ".bash_login",
  ".bash_logout",
  ".bash_profile",
  ".bashrc",
  ".bundle",
  ".cargo",
  ".condarc",
  ".cshrc",
  ".curlrc",
  ".devcontainer",
  ".direnv",
  ".emacs",
  ".emacs.d",
  ".envrc",
  ".exrc",
  ".fleet",
  ".gdbinit",
  ".git",
  ".gitconfig",
  ".gitmodules",
  ".hg",
  ".hgrc",
  ".husky",
  ".idea",
  ".inputrc",
  ".irbrc",
  ".kshrc",
  ".lldbinit",
  ".login",
  ".mcp.json",
  ".mise.toml",
  ".npmrc",
  ".nvimrc",
  ".pnpmfile.cjs",
  ".pre-commit-config.yaml",
  ".profile",
  ".pryrc",
  ".pythonrc",
  ".ripgreprc",
  ".rprofile",
  ".screenrc",
  ".ssh",
  ".tcshrc",
  ".tmux.conf",
  ".vim",
  ".vimrc",
  ".vscode",
  ".wgetrc",
  ".xinitrc",
  ".xprofile",
  ".xsession",
  ".yarnrc",
  ".yarnrc.yml",
  ".zed",
  ".zlogin",
  ".zlogout",
  ".zprofile",
  ".zshenv",
  ".zshrc",
  "autostart",
  "bulkhead.yaml",
  "git~1",
  "launchagents",
  "lefthook.yml",
  "mise.toml",
  "sitecustomize.py",
  "usercustomize.py",
]);
