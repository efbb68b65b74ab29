import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { stat } from "../../ground/platform/files/files.ts";
import { resolve } from "../../ground/platform/files/paths.ts";

/** Package that the operator asked to install. */
export type PackageSpec =
  | { type: "registry"; name: string; wanted: string }
  | { type: "tarball"; path: string }
  | { type: "remote"; url: string }
  | { type: "git"; url: string; ref: string | null }
  | { type: "folder"; path: string };

/**
 * Reads `name`, `name@version`, a folder, a tarball, its address, or a git repository (`git+https://…#ref`,
 * `github:owner/repository`). What lies at a path counts before a name, when it is written as one.
 * @throws {BulkheadError} `not_found`, `invalid_config`
 */
export async function parsePackageSpec(typed: string, cwd: string): Promise<PackageSpec> {
  const { default: npa } = await import("npm-package-arg");
  let spec: ReturnType<typeof npa>;
  try {
    spec = npa(typed, cwd);
  } catch (cause) {
    throw unreadable(typed, cause);
  }
  const { type, name, fetchSpec } = spec;
  if ((type === "version" || type === "range" || type === "tag") && typeof name === "string") {
    // A name alone is any version to npm's library, and the newest that is meant for use to a person.
    return { type: "registry", name, wanted: fetchSpec && fetchSpec !== "*" ? fetchSpec : "latest" };
  }
  if (type === "remote" && fetchSpec) return { type, url: fetchSpec };
  if (type === "git") {
    checkRef(typed, spec.gitCommittish ?? null);
    const url = hostedUrl(spec.hosted) ?? fetchSpec;
    if (url) return { type, url, ref: spec.gitCommittish ?? null };
  }
  if ((type === "file" || type === "directory") && fetchSpec) {
    const path = resolve(cwd, fetchSpec);
    const found = await stat(path).catch(() => null);
    if (found?.isDirectory()) return { type: "folder", path };
    if (found?.isFile()) return { type: "tarball", path };
    throw new BulkheadError("not_found", `Cannot install ${typed}: there is nothing at ${path}.`);
  }
  throw unreadable(typed);
}

/** npm's library leaves out what it takes for something else: a range of versions, a folder, a name with a colon. */
function checkRef(typed: string, ref: string | null): void {
  const at = typed.indexOf("#");
  const named = at === -1 ? "" : typed.slice(at + 1);
  if (named === (ref ?? "")) return;
  throw new BulkheadError(
    "invalid_config",
    `Cannot install ${JSON.stringify(typed)}: "${named}" is no branch, tag or commit.`,
    {
      hint:
        "Name one after #, or none for the repository's default branch. Ranges of versions and folders are not supported.",
    },
  );
}

function unreadable(typed: string, cause?: unknown): BulkheadError {
  if (typed.startsWith("jsr:")) {
    return new BulkheadError(
      "invalid_config",
      `Cannot install ${JSON.stringify(typed)}: hosts install nothing from JSR.`,
      {
        hint:
          "JSR rewrites package.json, so what it serves is not what was packed. Ask for its npm name, tarball or repository.",
      },
    );
  }
  return new BulkheadError("invalid_config", `Cannot install ${JSON.stringify(typed)}: it names no package.`, {
    hint: "Give a name, name@version, a folder, a tarball, or git+https://… with #ref.",
    cause,
  });
}

/** The library's data on a repository at one of the hosts that have short names. */
interface HostedRepository {
  default?: string;
  https(options: { noCommittish: boolean; noGitPlus: boolean }): string;
  sshurl(options: { noCommittish: boolean; noGitPlus: boolean }): string;
}

function hostedUrl(hosted: unknown): string | undefined {
  if (typeof hosted !== "object" || hosted === null) return undefined;
  const repository = hosted as HostedRepository;
  const plain = { noCommittish: true, noGitPlus: true };
  return repository.default === "sshurl" ? repository.sshurl(plain) : repository.https(plain);
}
