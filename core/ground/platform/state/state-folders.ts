import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import process from "node:process";

/** Folders of Bulkhead, each an absolute path; this file creates none. */
interface StateFolders {
  /** The operator's own host manifest. */
  config: string;
  /** Installed plugins. */
  data: string;
  /** The journal and all other data that must outlive the host. */
  state: string;
  /** Data that the host can make again. */
  cache: string;
}

/** Folders by the XDG Base Directory Specification 0.8. A variable that is empty or not absolute is unset. */
export function stateFolders(env: Readonly<Record<string, string | undefined>> = process.env): StateFolders {
  const home = env["HOME"] && isAbsolute(env["HOME"]) ? env["HOME"] : homedir();
  const folder = (variable: string, ...fallback: string[]) => {
    const set = env[variable];
    return join(set && isAbsolute(set) ? set : join(home, ...fallback), "bulkhead");
  };
  return {
    config: folder("XDG_CONFIG_HOME", ".config"),
    data: folder("XDG_DATA_HOME", ".local", "share"),
    state: folder("XDG_STATE_HOME", ".local", "state"),
    cache: folder("XDG_CACHE_HOME", ".cache"),
  };
}
