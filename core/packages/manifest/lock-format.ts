/**
 * Source of an installed plugin; its id is bound to that. `wanted` is the version, range or tag that the operator asked
 * for, in which updates stay; absent in old locks: `latest`. A type alias, so that it is JSON for details.
 */
export type PackageSource =
  | { type: "registry"; name: string; registry: string; wanted?: string | undefined }
  | { type: "tarball"; path: string }
  | { type: "remote"; url: string }
  | { type: "git"; url: string; ref: string | null; commit: string }
  | { type: "folder"; path: string };

/** Entry of one installed plugin in `bulkhead.lock`. */
export interface LockedPlugin {
  source: PackageSource;
  version: string;
  /** SHA-512 of the archive as npm writes it; null for a folder. */
  integrity: string | null;
  /** Hex SHA-256 of the list of all its files, each with its own. */
  files: string;
  /** Highest version that was in use here since the last allowed downgrade. */
  highest: string;
  /** Key of the registry that signed it; null: not signed. */
  signed_by: string | null;
  /** Builder, as the certificate of its provenance says; null: it has none. */
  provenance: string | null;
  installed_at: string;
}

/** `bulkhead.lock`: what is installed beside a host manifest. */
export interface PluginLock {
  lock: 1;
  plugins: Record<string, LockedPlugin>;
}
