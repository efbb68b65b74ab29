import { writeFiles } from "../../../ground/platform/files/write-new-file.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { mkdir } from "../../../ground/platform/files/files.ts";
import { runGit } from "../../../ground/platform/processes/git-program.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { makeTemporaryFolder } from "../../../ground/platform/files/temporary-folder.ts";
import { removeTree } from "../../../ground/platform/files/remove-tree.ts";

/** A place for one demo, removed when it is disposed. */
export interface DemoPlace extends AsyncDisposable {
  /** A git repository with a few files and one commit. */
  repository: string;
  /** An empty folder for the host's state. */
  state: string;
}

const files: Readonly<Record<string, string>> = {
  "README.md": "# Tidepool\n\nCounts what lives in a rock pool.\n\n```sh\nnode src/main.js 3 crabs 2 anemones\n```\n",
  "package.json": '{\n  "name": "tidepool",\n  "version": "1.0.0",\n  "type": "module"\n}\n',
  "src/main.js": [
    'import { tally } from "./tally.js";',
    "",
    "const words = process.argv.slice(2);",
    "console.log(tally(words));",
    "",
  ].join("\n"),
  "src/tally.js": [
    "/** Adds up pairs of a number and a word. */",
    "export function tally(words) {",
    "  const counts = new Map();",
    "  for (let index = 0; index < words.length; index += 2) {",
    "    const kind = words[index + 1];",
    "    counts.set(kind, (counts.get(kind) ?? 0) + Number(words[index]));",
    "  }",
    '  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ");',
    "}",
    "",
  ].join("\n"),
  "tools/tally.py": [
    "import sys",
    "from collections import Counter",
    "",
    "counts = Counter()",
    "for number, kind in zip(sys.argv[1::2], sys.argv[2::2]):",
    "    counts[kind] += int(number)",
    "print(dict(counts))",
    "",
  ].join("\n"),
};

/**
 * Makes a temporary folder with a fresh git repository in it.
 * @throws {BulkheadError} `git_missing`, `io_error`
 */
export async function makeDemoPlace(): Promise<DemoPlace> {
  const root = await makeTemporaryFolder("demo");
  const place: DemoPlace = {
    repository: join(root, "tidepool"),
    state: join(root, "state"),
    [Symbol.asyncDispose]: () => removeTree(root),
  };
  try {
    await mkdir(place.state);
    await fillRepository(place.repository, root);
    return place;
  } catch (error) {
    await place[Symbol.asyncDispose]();
    throw error;
  }
}

async function fillRepository(repository: string, home: string): Promise<void> {
  await writeFiles(repository, files);
  await git(["-c", "init.defaultBranch=main", "init", "--quiet"], { repository, home });
  await git(["add", "."], { repository, home });
  await git(["commit", "--quiet", "--message", "Count what lives in a rock pool"], { repository, home });
}

async function git(args: string[], { repository, home }: { repository: string; home: string }): Promise<void> {
  const who = { NAME: "Demo", EMAIL: "demo@example.invalid" };
  const { exit_code, stderr } = await runGit(args, {
    cwd: repository,
    // The person's own git configuration may sign commits or run hooks.
    env: {
      HOME: home,
      GIT_CONFIG_NOSYSTEM: "1",
      ...Object.fromEntries(
        Object.entries(who).flatMap(([key, value]) => [
          [`GIT_AUTHOR_${key}`, value],
          [`GIT_COMMITTER_${key}`, value],
        ]),
      ),
    },
  });
  if (exit_code !== 0) {
    throw new BulkheadError(
      "io_error",
      `Cannot make the demo's repository: git ${args.at(-1)} failed: ${stderr.trim()}`,
    );
  }
}
