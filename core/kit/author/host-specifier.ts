import { hostVersion } from "../../ground/config/version.ts";
import { readFile } from "../../ground/runtime/files.ts";
import { basename, dirname, fileURLToPath, join } from "../../ground/runtime/paths.ts";

const own = import.meta.url;
const ownFolder = fileURLToPath(new URL(own.endsWith(".ts") ? "../../.." : "../../../..", own));

/**
 * How the `package.json` of a new plugin names this host, so that `npm install` finds it: by a range of versions where npm
 * installed the host from a registry, else by the folder that it runs from.
 */
export async function hostSpecifier(folder: string = ownFolder): Promise<string> {
  const root = folder.replace(/[\\/]$/, "");
  return await isFromRegistry(root) ? `^${hostVersion}` : `file:${root}`;
}

/** Looks into npm's list of installed packages (`node_modules/.package-lock.json`). */
async function isFromRegistry(root: string): Promise<boolean> {
  const modules = dirname(root);
  if (basename(modules) !== "node_modules") return false;
  try {
    const { packages } = JSON.parse(await readFile(join(modules, ".package-lock.json"), "utf8")) as {
      packages?: Record<string, { resolved?: unknown } | undefined>;
    };
    const resolved = packages?.[`node_modules/${basename(root)}`]?.resolved;
    return typeof resolved === "string" && /^https?:/.test(resolved);
  } catch {
    return false;
  }
}
