import compare from "semver/functions/compare.js";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { LockedPlugin, PackageSource } from "../registry/lock-format.ts";
import { repositoryOf } from "./provenance.ts";

/** Exceptions to the rules that an operator allows. */
export interface Allowances {
  /** A version that is lower than one that was in use. */
  downgrade: boolean;
  /** A known id from elsewhere. */
  replaceSource: boolean;
  /** An id that looks like another. */
  similarId: boolean;
}

/** A source in words. */
export function sourceText(source: PackageSource): string {
  switch (source.type) {
    case "registry":
      return `${source.name} at ${source.registry}`;
    case "tarball":
    case "folder":
      return source.path;
    case "remote":
      return source.url;
    case "git":
      return `${source.url}${source.ref === null ? "" : `#${source.ref}`}`;
  }
}

/** Whether an update may come from there: the version or commit is no part of it. */
export function isSameSource(a: PackageSource, b: PackageSource): boolean {
  if (a.type === "registry" && b.type === "registry") {
    return a.name === b.name && trimmed(a.registry) === trimmed(b.registry);
  }
  if (a.type === "git" && b.type === "git") return a.url === b.url;
  // Each version of a tarball has another file name, and only the operator can name a path.
  if (isLocal(a) && isLocal(b)) return true;
  return a.type === "remote" && b.type === "remote" && publisherOf(a.url) === publisherOf(b.url);
}

/**
 * Whose an address is: many publishers share a host, each with a first folder of their own; what comes after it has the
 * version in it.
 */
function publisherOf(url: string): string {
  const { origin, pathname } = new URL(url);
  const [first = "", ...rest] = pathname.split("/").slice(1);
  return rest.length === 0 ? origin : `${origin}/${first}`;
}

function isLocal({ type }: PackageSource): boolean {
  return type === "tarball" || type === "folder";
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, "");
}

/**
 * Holds an installed plugin to where it came from: the same source, signed if it was, built where it was, and no older
 * than before.
 * @throws {BulkheadError} `duplicate_plugin`, `invalid_package`
 */
export function checkAgainstLock(
  id: string,
  { locked, next, allow }: { locked: LockedPlugin; next: LockedPlugin; allow: Allowances },
): void {
  if (!isSameSource(locked.source, next.source)) {
    if (allow.replaceSource) return;
    throw new BulkheadError(
      "duplicate_plugin",
      `Cannot install plugin "${id}" from ${sourceText(next.source)}: it is installed from ${
        sourceText(locked.source)
      }.`,
      {
        hint: "If that is meant, say --replace-source; what the other one stored is removed then.",
        details: { plugin_id: id, installed_from: sourceText(locked.source) },
      },
    );
  }
  if (locked.signed_by !== null && next.signed_by === null && !allow.replaceSource) {
    throw new BulkheadError(
      "invalid_package",
      `Cannot install plugin "${id}" ${next.version}: it is not signed, and ${locked.version} was.`,
      { hint: "If that is meant, say --replace-source.", details: { plugin_id: id, signed_by: locked.signed_by } },
    );
  }
  if (locked.provenance !== null && !allow.replaceSource) {
    const repository = next.provenance === null ? null : repositoryOf(next.provenance);
    if (repository !== repositoryOf(locked.provenance)) {
      const now = repository === null ? "nothing says who built it" : `it was built by ${repository}`;
      throw new BulkheadError(
        "invalid_package",
        `Cannot install plugin "${id}" ${next.version}: ${now}, and ${locked.version} was built by ${
          repositoryOf(locked.provenance)
        }.`,
        { hint: "If that is meant, say --replace-source.", details: { plugin_id: id, provenance: locked.provenance } },
      );
    }
  }
  if (compare(next.version, locked.highest) < 0 && !allow.downgrade) {
    throw new BulkheadError(
      "invalid_package",
      `Cannot install plugin "${id}" ${next.version}: ${locked.highest} was in use already.`,
      { hint: "If that is meant, say --allow-downgrade.", details: { plugin_id: id, highest: locked.highest } },
    );
  }
  const republished = next.version === locked.version && next.files !== locked.files;
  if (republished && next.source.type === "registry") {
    throw new BulkheadError(
      "invalid_package",
      `Cannot install plugin "${id}" ${next.version}: it has other files than the version of that number that is locked.`,
      { hint: "A published version never changes. Ask its author.", details: { plugin_id: id } },
    );
  }
}
