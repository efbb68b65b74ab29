/** Kind of file or folder that a host acts on. */
export type ActedOnKind = "manifest" | "lock" | "plugin" | "secrets" | "npm" | "program";

/** A kind in words, and how it is recorded. */
interface ActedOnWords {
  /** Words before its path in a sentence. */
  words: string;
  isFolder: boolean;
  /** Whether its text is kept, to show what changed; what may hold a key is not. */
  keepsText: boolean;
}

/** Every kind of file and folder that a host acts on only if it was recorded. */
export const actedOnKinds: { readonly [K in ActedOnKind]: ActedOnWords } = {
  manifest: { words: "the host manifest", isFolder: false, keepsText: true },
  lock: { words: "the lock", isFolder: false, keepsText: true },
  plugin: { words: "the plugin in", isFolder: true, keepsText: false },
  secrets: { words: "the secret in", isFolder: false, keepsText: false },
  program: { words: "the program", isFolder: false, keepsText: false },
  npm: { words: "npm's settings", isFolder: false, keepsText: false },
};
