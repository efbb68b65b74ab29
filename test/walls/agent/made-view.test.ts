import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { spawnChild } from "../../../core/ground/platform/processes/child-process.ts";
import { dropLauncher, launch } from "../../../core/ground/platform/processes/launcher.ts";
import {
  commandChain,
  withOwnMounts,
  withVerifiedMounts,
} from "../../../core/ground/platform/os-walls/command-chain.ts";
import { containAgent } from "../../../core/walls/agent/contain-agent.ts";
import type { Command } from "../../../core/ground/platform/os-walls/os-wall.ts";
import type { AgentView } from "../../../core/walls/agent/program-view.ts";
import { openOwnNetwork, type OwnNetwork } from "../../../core/walls/agent/own-network.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { skipBecause } from "../../skip-because.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";

const folders: string[] = [];
const networks: OwnNetwork[] = [];

afterEveryTest(async () => {
  for (const network of networks.splice(0)) await network.close();
  await dropLauncher();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A project, a home and state as a session has them. */
async function makeView(changes: (root: string) => Partial<AgentView> = () => ({})): Promise<AgentView> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-view-")));
  folders.push(root);
  const made = ["work/.git/hooks", "work/.claude", "state/temp", "home/.tool", "real/.tool", "filter"];
  for (const folder of made) await mkdir(join(root, folder), { recursive: true });
  for (const file of ["work/.git/config", "state/journal", "keys"]) await writeFile(join(root, file), "SECRET");
  const network = await openOwnNetwork({ ports: [3128], folder: join(root, "net") });
  networks.push(network);
  return {
    writable: [join(root, "work")],
    held: [join(root, "work/.git")],
    sealed: ["work/.git/hooks", "work/.git/config", "work/.claude"].map((name) => join(root, name)),
    tmp: join(root, "state/temp"),
    hidden: [join(root, "state"), join(root, "keys")],
    shown: [join(root, "real/.tool")],
    bound: [{ from: join(root, "home"), at: join(root, "real"), isNew: true }],
    network,
    filterFolder: join(root, "filter"),
    ...changes(root),
  };
}

/** A shell behind the walls of a view. */
async function contained(view: AgentView, script: string): Promise<Command> {
  const env = { PATH: "/usr/bin:/bin" };
  return await containAgent({ file: "/bin/sh", args: ["-c", script], env, cwd: view.writable[0]! }, view);
}

async function text(stream: Readable): Promise<string> {
  let all = "";
  for await (const piece of stream.setEncoding("utf8") as AsyncIterable<string>) all += piece;
  return all;
}

async function output(command: Command): Promise<string> {
  const program = await launch(command, { stdin: "closed" });
  if (program === null) return await outputWithoutLauncher(command);
  const [out, err] = await Promise.all([text(program.stdout), text(program.stderr)]);
  return out + err;
}

async function outputWithoutLauncher(command: Command): Promise<string> {
  const { file, args, cwd, env } = await commandChain(command);
  const { stdout, stderr } = await promisify(execFile)(file, args, { cwd, env });
  return stdout + stderr;
}

/** What is seen at each place, in the order of their names: the last mount there, without the number of its device. */
function seen(mountinfo: string): string[] {
  const rows = mountinfo.trim().split("\n").map((row) => {
    const [, , , root, at, options, ...rest] = row.split(" ");
    const [kind, source, ofAll] = rest.slice(rest.indexOf("-") + 1);
    return [at!, [root, options, kind, source, ofAll].join(" ")] as const;
  });
  return [...new Map(rows)].map(([at, row]) => `${at} ${row}`).sort();
}

/** The arguments of the process that contains the others. */
const asked = "tr '\\0' ' ' < /proc/1/cmdline; ";

test("a view lets a program write what it may, and neither read nor change the rest", async (context) => {
  await needsWall(context, "bubblewrap");
  const view = await makeView();
  const root = join(view.writable[0]!, "..");
  const tries = ["work/.git/hooks/x", "work/.git/config", "work/.claude/x", "state/x", "filter/x", "real/.tool/x"];
  const script = `echo new > work/made; mv work/.git work/moved; cat state/journal keys; ls state;
    for place in ${tries.join(" ")}; do echo x > $place && echo wrote $place; done`;
  const said = await output(await contained(view, `cd ${root}; exec 2>/dev/null; ${script}; cat work/made`));
  expect(said).toBe("temp\nnew\n");
});

test("a view that bwrap makes is made where hidden files went after they were seen, and makes none", async (context) => {
  await needsWall(context, "bubblewrap");
  const folder = await mkdtemp("/var/tmp/bulkhead-view-");
  folders.push(folder);
  const view = await makeView((root) => ({
    hidden: [join(folder, "socket"), join(root, "work/socket"), join(root, "keys")],
  }));
  const own = join(view.writable[0]!, "socket");
  for (const path of [join(folder, "socket"), own]) await writeFile(path, "");
  const command = await contained(view, `ls ${own} 2>/dev/null; cat ../keys 2>/dev/null; echo made`);
  for (const path of [join(folder, "socket"), own]) await rm(path);
  const { view: _, ...made } = await withVerifiedMounts(command);
  expect(await output(made)).toBe("made\n");
});

test("the runtime of the host starts in a view that mounts its very file", async (context) => {
  await needsWall(context, "bubblewrap");
  const file = await realpath(process.execPath);
  const view = await makeView(() => ({ bound: [{ from: file, at: file }] }));
  const env = { PATH: "/usr/bin:/bin", HOME: view.tmp };
  const command = await containAgent({ file, args: ["--version"], env, cwd: view.writable[0]! }, view);
  const options = { ...command, name: "runtime", mark: "made-view-test", stdin: "closed" as const, contained: true };
  const child = await spawnChild(command.file, command.args, options);
  const [first, problem] = await Promise.all([child.stdout.read(), child.stderr.read()]);
  expect(new TextDecoder().decode(problem ?? first ?? new Uint8Array())).toMatch(/^(v|deno )\d+\.\d+/);
});

if (process.platform === "linux" && !("Deno" in globalThis)) {
  describe("a view that the launcher makes", () => {
    test("is the one that bwrap would make, mount by mount and with the same devices", async (context) => {
      await needsWall(context, "bubblewrap");
      const view = await makeView();
      const mounts = await contained(view, "cat /proc/self/mountinfo");
      const made = seen(await output(mounts));
      expect(made).toEqual(seen(await output(withOwnMounts(mounts))));
      expect(made.length).toBeGreaterThan(15);
      const devices = await contained(view, "cd /dev; stat -c '%A %t:%T %N' *; head -c 3 zero | od; : > null");
      expect(await output(devices)).toBe(await output(withOwnMounts(devices)));
    });

    test("leaves bwrap nothing to mount but the disk and its processes", async (context) => {
      await needsWall(context, "bubblewrap");
      const line = await output(await contained(await makeView(), asked));
      expect(line).toContain("--dev-bind / / --proc /proc --remount-ro /proc ");
      expect(line).not.toContain("--ro-bind");
    });

    test("is made where a hidden file went after it was seen, as the socket of another program does", async (context) => {
      await needsWall(context, "bubblewrap");
      // Not in `/tmp`, for which it has a folder of its own.
      const folder = await mkdtemp("/var/tmp/bulkhead-view-");
      folders.push(folder);
      await writeFile(join(folder, "socket"), "");
      const command = await contained(await makeView(() => ({ hidden: [join(folder, "socket")] })), "echo made");
      await rm(join(folder, "socket"));
      expect(await output(command)).toBe("made\n");
    });

    test("is left to bwrap where it has no mounts: the disk is read-only all the same", async (context) => {
      await needsWall(context, "bubblewrap");
      const folder = (await makeView()).writable[0]!;
      const command = await contained(await makeView(), `echo x 2>/dev/null > ${folder}/made || echo refused`);
      expect(await output({ ...command, view: [] })).toContain("refused\n");
    });

    test("is left to bwrap where the whole disk is to write", async (context) => {
      await needsWall(context, "bubblewrap");
      const view = await makeView();
      expect(await output(await contained({ ...view, writable: ["/"], sealed: [], held: [] }, asked))).toContain(
        "--ro-bind / / ",
      );
    });
  });
}

test("a view follows a link that the person made, once", async (context) => {
  await needsWall(context, "bubblewrap");
  const view = await makeView((root) => ({ writable: [join(root, "work"), join(root, "link")] }));
  const root = join(view.writable[0]!, "..");
  await mkdir(join(root, "other"));
  await symlink("other", join(root, "link"));
  const line = await output(await contained(view, `${asked} echo here > ../link/made`));
  expect(line).not.toContain("cannot");
  expect(await readFile(join(root, "other", "made"), "utf8")).toBe("here\n");
});

/** Swaps a folder for a link to another one. */
async function swap(folder: string, other: string): Promise<void> {
  await rename(folder, `${folder}-before`);
  await symlink(other, folder);
}

test("a start that a link stopped says which place it stands before", async (context) => {
  await needsWall(context, "bubblewrap");
  const view = await makeView();
  const command = await contained(view, "echo began");
  const place = join(view.writable[0]!, ".claude");
  await swap(place, "/etc");
  const options = { ...command, mark: "made-view-test", stdin: "closed" as const, contained: true };
  const start = spawnChild(command.file, command.args, options);
  const said = start.then(async ({ stderr }) => new TextDecoder().decode(await stderr.read() ?? undefined), String);
  expect(await said).toContain(place);
});

describe("a link that takes the place of a folder once a view is decided", () => {
  const forms: Readonly<Record<string, (root: string) => [place: string, other: string]>> = {
    "of the working directory": (root) => [join(root, "work"), join(root, "secret")],
    "of a source": (root) => [join(root, "private"), join(root, "secret")],
    "of a folder above a source": (root) => [join(root, "above"), join(root, "secret")],
    "of a guarded place": (root) => [join(root, "work/.claude"), join(root, "secret")],
    "of a folder above a guarded place": (root) => [join(root, "work/.git"), join(root, "secret")],
    "in a private home": (root) => [join(root, "private/.config"), "../secret"],
  };
  for (const [name, places] of Object.entries(forms)) {
    for (const way of ["the launcher", "bwrap alone"] as const) {
      test(`stops the start: ${name}, with ${way}`, async (context) => {
        await needsWall(context, "bubblewrap");
        const view = await makeView((root) => ({
          hidden: [join(root, "state"), join(root, "keys"), join(root, "secret")],
          bound: [
            { from: join(root, "private"), at: join(root, "real"), isNew: true },
            { from: join(root, "above/records"), at: join(root, "real/records") },
          ],
          shown: [join(root, "real/.config/git")],
        }));
        const root = join(view.writable[0]!, "..");
        for (
          const folder of ["private/.config", "real/.config/git", "above/records", "secret/records", "secret/hooks"]
        ) {
          await mkdir(join(root, folder), { recursive: true });
        }
        for (const file of ["secret/key", "secret/records/key", "secret/config"]) {
          await writeFile(join(root, file), "SECRET");
        }
        const script = `cat ${root}/*/key ${root}/*/*/key ./key; echo began`;
        const command = await contained(view, script);
        await swap(...places(root));
        const start = way === "the launcher" ? output(command) : withVerifiedMounts(command).then(output);
        // An error's message may hold the command.
        const said = await start.catch((error: { stdout?: string }) => `stopped ${error.stdout ?? ""}`);
        expect(said).toMatch(/^stopped *$/);
      });
    }
  }
});

/** Mounts a disk while a program runs, in a namespace whose mounts are shared as those of systemd are. */
const lateDisk = `
  mount --make-rshared / || exit 40
  disk=$1; shift
  "$@" &
  for try in $(seq 500); do [ -e "$disk/../began" ] && break; sleep 0.02; done
  mount -t tmpfs none "$disk" || exit 40
  touch "$disk/file" "$disk/../go"; wait
`;

test("a disk that is mounted while a program runs does not appear in its view", async (context) => {
  await needsWall(context, "bubblewrap");
  const view: AgentView = { ...await makeView(), network: "none" };
  delete view.filterFolder;
  const [work = ""] = view.writable;
  const disk = join(work, "disk");
  await mkdir(disk);
  await writeFile(join(disk, "below"), "");
  const command = await contained(view, `touch began; until [ -e go ]; do sleep 0.02; done; ls ${disk}`);
  const seenLater = async ({ file, args, env, cwd }: Command) => {
    for (const name of ["began", "go"]) await rm(join(work, name), { force: true });
    const user = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
    const own = [...user, "--mount", "--propagation", "unchanged", "sh", "-c", lateDisk, "sh", disk];
    const run = promisify(execFile)("unshare", [...own, file, ...args], { env, cwd, timeout: 30_000 });
    return await run.then(({ stdout }) => stdout, (error: { code?: unknown; stderr?: string }) => {
      if (error.code === 40 || error.stderr?.startsWith("unshare:")) skipBecause(context, "this user may not mount");
      throw error;
    });
  };
  expect(await seenLater(withOwnMounts(command))).toBe("file\n");
  expect(await seenLater(await commandChain(command))).toBe("below\n");
  expect(await seenLater(await commandChain({ ...command, view: [...command.view!, "--bind", "/", "/"] }))).toBe(
    "below\n",
  );
});
