import compare from "semver/functions/compare.js";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { LockedPlugin, PackageSource } from "../manifest/lock-format.ts";
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
export function checkAgainstLock(id: string, change: LockedChange): void {
  const { locked, next, allow } = change;
  if (!isSameSource(locked.source, next.source)) {
    if (allow.replaceSource) return;
    throw elsewhereError(id, change);
  }
  if (!allow.replaceSource) {
    refuseUnsigned(id, change);
    refuseOtherBuilder(id, change);
  }
  if (!allow.downgrade) refuseDowngrade(id, change);
  refuseRepublished(id, change);
}

/** A version that would take the place of the one in use. */
interface LockedChange {
  locked: LockedPlugin;
  next: LockedPlugin;
  allow: Allowances;
}

function elsewhereError(id: string, { locked, next }: LockedChange): BulkheadError {
  const [from, to] = [sourceText(locked.source), sourceText(next.source)];
  const message = `Cannot install plugin "${id}" from ${to}: it is installed from ${from}.`;
  return new BulkheadError("duplicate_plugin", message, {
    hint: "If that is meant, say --replace-source; what the other one stored is removed then.",
    details: { plugin_id: id, installed_from: from },
  });
}

function refuseUnsigned(id: string, { locked, next }: LockedChange): void {
  if (locked.signed_by === null || next.signed_by !== null) return;
  throw refusal(id, next, {
    state: `it is not signed, and ${locked.version} was`,
    hint: "If that is meant, say --replace-source.",
    details: { signed_by: locked.signed_by },
  });
}

function refuseOtherBuilder(id: string, { locked, next }: LockedChange): void {
  if (locked.provenance === null) return;
  const former = repositoryOf(locked.provenance);
  const repository = next.provenance === null ? null : repositoryOf(next.provenance);
  if (repository === former) return;
  const now = repository === null ? "nothing says who built it" : `it was built by ${repository}`;
  throw refusal(id, next, {
    state: `${now}, and ${locked.version} was built by ${former}`,
    hint: "If that is meant, say --replace-source.",
    details: { provenance: locked.provenance },
  });
}

function refuseDowngrade(id: string, { locked, next }: LockedChange): void {
  if (compare(next.version, locked.highest) >= 0) return;
  throw refusal(id, next, {
    state: `${locked.highest} was in use already`,
    hint: "If that is meant, say --allow-downgrade.",
    details: { highest: locked.highest },
  });
}

function refuseRepublished(id: string, { locked, next }: LockedChange): void {
  const republished = next.version === locked.version && next.files !== locked.files;
  if (!republished || next.source.type !== "registry") return;
  throw refusal(id, next, {
    state: "it has other files than the version of that number that is locked",
    hint: "A published version never changes. Ask its author.",
  });
}

function refusal(
  id: string,
  { version }: LockedPlugin,
  { state, hint, details }: { state: string; hint: string; details?: Record<string, string> },
): BulkheadError {
  return new BulkheadError("invalid_package", `Cannot install plugin "${id}" ${version}: ${state}.`, {
    hint,
    details: { plugin_id: id, ...details },
  });
}
