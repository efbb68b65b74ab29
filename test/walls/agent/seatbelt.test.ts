import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { AgentView } from "../../../core/walls/agent/program-view.ts";
import { containBySeatbelt, seatbeltProfile } from "../../../core/walls/agent/seatbelt.ts";

// No Mac tests this: a reader of the profile's language decides as the manual says, by the last rule that fits.

type Form = string | Form[];

/** Reads forms of a Scheme: lists, words, strings and `#"…"`. */
function formsOf(text: string): Form[] {
  const tokens = text.match(/[()]|#?"(?:[^"\\]|\\.)*"|[^\s()]+/g) ?? [];
  const read = (): Form[] => {
    const forms: Form[] = [];
    for (let token = tokens.shift(); token !== undefined && token !== ")"; token = tokens.shift()) {
      forms.push(token === "(" ? read() : token);
    }
    return forms;
  };
  return read();
}

const textOf = (form: Form | undefined): string => JSON.parse(String(form).replace(/^#/, "")) as string;

function fits(filter: Form, subject: string): boolean {
  const [kind, value] = filter as Form[];
  if (kind === "subpath") {
    const place = textOf(value);
    return subject === place || subject.startsWith(place === "/" ? "/" : `${place}/`);
  }
  if (kind === "literal" || kind === "global-name") return subject === textOf(value);
  if (kind === "regex") return new RegExp(String(value).slice(2, -1)).test(subject);
  if (kind === "remote" || kind === "local") return subject === textOf((filter as Form[])[2]);
  return kind === "target" && subject === value;
}

/** Whether a profile lets an operation through. */
function allows(profile: string, operation: string, subject: string): boolean {
  let decision = "allow";
  for (const form of formsOf(profile)) {
    const [verdict, ...rest] = form as Form[];
    if (verdict !== "allow" && verdict !== "deny") continue;
    const operations = rest.filter((one): one is string => typeof one === "string");
    const filters = rest.filter((one) => typeof one !== "string");
    const covers = operations.some((one) =>
      one === "default" || one === operation || one.endsWith("*") && operation.startsWith(one.slice(0, -1))
    );
    if (covers && (filters.length === 0 || filters.some((filter) => fits(filter, subject)))) decision = verdict;
  }
  return decision === "allow";
}

const view: AgentView = {
  writable: ["/Users/ada/work"],
  tmp: "/private/tmp/session",
  hidden: ["/Users/ada/.ssh", "/Users/ada/Library/Application Support/bulkhead"],
  shown: ["/Users/ada/.cargo", "/Users/ada/work/.git"],
  sealed: ["/Users/ada/work/.git/hooks", "/Users/ada/work/.github", "/Users/ada/work/plugins/eu/deploy"],
  held: ["/Users/ada/work/.git"],
  links: [{ at: "/Users/ada/work/CLAUDE.md", isDangling: false }],
  bound: [
    { from: "/private/walls/home", at: "/Users/ada" },
    { from: "/private/walls/settings/0/.agent", at: "/Users/ada/.agent" },
    { from: "/Users/ada/.agent/sessions", at: "/Users/ada/.agent/sessions" },
  ],
  network: "none",
  reach: [4100],
};

describe("the profile of an agent's program on macOS", () => {
  const profile = seatbeltProfile(view, { home: "/Users/ada" });

  test("lets no link be replaced that is guarded, and no folder be moved that something guarded lies in", () => {
    const work = "/Users/ada/work";
    for (const entry of ["CLAUDE.md", ".git", "plugins", "plugins/eu", "plugins/eu/deploy"]) {
      expect(allows(profile, "file-write-unlink", `${work}/${entry}`), entry).toBe(false);
    }
    for (const entry of ["src", "plugins/us", "plugins/eu/beside", ".git/HEAD"]) {
      expect(allows(profile, "file-write-unlink", `${work}/${entry}`), entry).toBe(true);
    }
    expect(allows(profile, "file-write-create", `${work}/CLAUDE.md`)).toBe(false);
    expect(allows(profile, "file-write-create", `${work}/plugins/eu`)).toBe(true);
  });

  test.each([
    ["/Users/ada/work/main.c", true, true],
    ["/Users/ada/work/.git/HEAD", true, true],
    ["/Users/ada/work/.git/hooks/post-commit", true, false],
    ["/Users/ada/work/.github/workflows/x.yml", true, false],
    ["/Users/ada/work-too/main.c", false, false],
    ["/Users/ada/notes.txt", false, false],
    ["/Users/ada/.ssh/id_ed25519", false, false],
    ["/Users/ada/.cargo/bin/cargo", true, false],
    ["/Users/ada/.agent/settings.json", false, false],
    ["/Users/ada/.agent/sessions/1.json", true, true],
    ["/private/walls/home/.cache/x", true, true],
    ["/private/walls/settings/0/.agent/settings.json", true, true],
    ["/private/tmp/session/x", true, true],
    ["/usr/lib/libSystem.dylib", true, false],
    ["/etc/hosts", true, false],
    ["/dev/null", true, true],
    ["/dev/ttys003", true, true],
    ["/dev/disk0", true, false],
  ])("%s is read: %s, is written: %s", (path, read, written) => {
    expect(allows(profile, "file-read-data", path)).toBe(read);
    expect(allows(profile, "file-write-data", path)).toBe(written);
    expect(allows(profile, "file-write-create", path)).toBe(written);
  });

  test("the proxy alone is reached, and other processes are left alone", () => {
    expect(allows(profile, "network-outbound", "localhost:4100")).toBe(true);
    for (const place of ["localhost:22", "example.com:443", "/private/var/run/docker.sock"]) {
      expect(allows(profile, "network-outbound", place)).toBe(false);
    }
    expect(allows(profile, "signal", "others")).toBe(false);
    expect(allows(profile, "signal", "same-sandbox")).toBe(true);
    expect(allows(profile, "process-info-pidinfo", "others")).toBe(false);
    for (const operation of ["mach-priv-task-port", "appleevent-send", "lsopen"]) {
      expect(allows(profile, operation, "any")).toBe(false);
    }
    expect(allows(profile, "mach-lookup", "com.apple.SecurityServer")).toBe(false);
    expect(allows(profile, "mach-lookup", "com.apple.trustd.agent")).toBe(true);
  });

  test("a session that works in the home keeps its keys hidden", () => {
    const inHome = { ...view, writable: ["/Users/ada"], bound: [], shown: [] };
    const own = seatbeltProfile(inHome, { home: null });
    expect(allows(own, "file-write-data", "/Users/ada/notes.txt")).toBe(true);
    expect(allows(own, "file-read-data", "/Users/ada/.ssh/id_ed25519")).toBe(false);
    expect(allows(own, "file-write-data", "/Users/ada/.ssh/authorized_keys")).toBe(false);
  });

  test("no name of a folder ends its string", () => {
    const plain = formsOf(profileOf("plain"));
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 30 }), (name) => {
        const folder = `/Users/ada/${name.replace(/[\0/]/g, "")}x`;
        const odd = seatbeltProfile({ ...view, writable: [folder], hidden: [`${folder}/secret`] }, {
          home: "/Users/ada",
        });
        const forms = formsOf(odd);
        expect(forms.every((form) => Array.isArray(form))).toBe(true);
        const strings = JSON.stringify(forms);
        expect(strings).toContain(JSON.stringify(`"${folder.replace(/[\\"]/g, "\\$&")}"`).slice(1, -1));
        expect(forms).toHaveLength(plain.length);
      }),
      { numRuns: 50 },
    );
  });
});

const profileOf = (name: string) =>
  seatbeltProfile({ ...view, writable: [`/Users/ada/${name}`], hidden: [`/Users/ada/${name}/secret`] }, {
    home: "/Users/ada",
  });

describe("the private home on macOS", () => {
  let root = "";
  afterEach(() => rm(root, { recursive: true, force: true }));

  test("is a folder that HOME names, with links to what the program may see of the real one", async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-seatbelt-")));
    for (const name of ["home/.agent/sessions", "home/.cargo", "own", "copy", "tmp"]) {
      await mkdir(join(root, name), { recursive: true });
    }
    await writeFile(join(root, "home/.agent/sessions/1"), "past");
    await writeFile(join(root, "copy/settings"), "mine");
    const home = join(root, "home");
    const command = { file: "/usr/bin/agent", args: ["-p"], env: { HOME: home }, cwd: root };
    const contained = await containBySeatbelt(command, {
      ...view,
      tmp: join(root, "tmp"),
      writable: [],
      shown: [join(home, ".cargo")],
      bound: [
        { from: join(root, "own"), at: home },
        { from: join(root, "copy/settings"), at: join(home, ".agentrc") },
        { from: join(home, ".agent/sessions"), at: join(home, ".agent/sessions") },
      ],
    });
    expect(contained).toMatchObject({ file: "/usr/bin/sandbox-exec", env: { HOME: join(root, "own") } });
    expect(contained.args.slice(2)).toEqual(["/usr/bin/agent", "-p"]);
    expect(await readFile(join(root, "own/.agent/sessions/1"), "utf8")).toBe("past");
    expect(await readFile(join(root, "own/.agentrc"), "utf8")).toBe("mine");
    expect(await realpath(join(root, "own/.cargo"))).toBe(join(home, ".cargo"));
  });
});
