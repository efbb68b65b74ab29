import { spawn } from "node:child_process";
import { findProgram } from "../os-walls/try-program.ts";
import { hostEnv, platform } from "../engine/platform.ts";

/** Opens an address in the person's browser; false where this machine has no desktop, or no program for it. */
export async function openBrowser(url: string): Promise<boolean> {
  const isDesktop = platform === "darwin" || hostEnv("DISPLAY") !== undefined ||
    hostEnv("WAYLAND_DISPLAY") !== undefined;
  const program = isDesktop ? await findProgram(platform === "darwin" ? "open" : "xdg-open") : null;
  if (program === null) return false;
  const child = spawn(program, [url], { detached: true, stdio: "ignore" });
  return await new Promise<boolean>((resolve) => {
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
    child.once("error", () => resolve(false));
  });
}
