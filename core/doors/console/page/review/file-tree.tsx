import { useComputed } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import { toggled } from "../parts.tsx";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { type FolderNode, treeOf } from "./file-tree-of.ts";
import type { PatchFile } from "./patch-files.ts";
import type { ReviewedFiles } from "./reviewed-files.ts";

/** With more files, folders are closed until they are opened. */
const mostOpen = 200;
/** Files of one folder that are listed before more is asked for. */
const mostListed = 200;

/** The changed files by folder, each a link to its diff, with a field to find one. */
export function FileTree({ of: reviewed }: { of: ReviewedFiles }) {
  const { files } = reviewed;
  const [words, setWords] = useState("");
  const found = useMemo(() => {
    const wanted = words.toLowerCase();
    return wanted === "" ? files : files.filter(({ path }) => path.toLowerCase().includes(wanted));
  }, [files, words]);
  const tree = useMemo(() => treeOf(found), [found]);
  return (
    <nav class="file-list" aria-label="Changed files">
      <input
        type="search"
        class="find-file"
        placeholder="Find a file"
        aria-label="Find a file"
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
      />
      {found.length === 0 && <p class="quiet-line">No changed file has these letters.</p>}
      <Inside of={tree} reviewed={reviewed} isOpen={found.length <= mostOpen} />
    </nav>
  );
}

interface InsideProps {
  of: FolderNode;
  reviewed: ReviewedFiles;
  isOpen: boolean;
}

function Inside({ of: { folders, files }, reviewed, isOpen }: InsideProps) {
  const [most, setMost] = useState(mostListed);
  const [flipped, setFlipped] = useState<ReadonlySet<string>>(new Set());
  return (
    <ul>
      {folders.map((folder) => {
        const opens = flipped.has(folder.path) !== isOpen;
        return (
          <li key={folder.path}>
            <button
              type="button"
              class="folder"
              aria-expanded={opens}
              onClick={() => setFlipped(toggled(flipped, folder.path))}
            >
              {plainText(folder.name, 200)}
            </button>
            {opens && <Inside of={folder} reviewed={reviewed} isOpen={isOpen} />}
          </li>
        );
      })}
      {files.slice(0, most).map((file) => <FileLink key={file.path} file={file} reviewed={reviewed} />)}
      {files.length > most && (
        <li>
          <button type="button" class="more" onClick={() => setMost(most * 4)}>
            {(files.length - most).toLocaleString("en")} more
          </button>
        </li>
      )}
    </ul>
  );
}

const signs = { new: "added", deleted: "deleted", moved: "moved" } as const;

function FileLink({ file, reviewed }: { file: PatchFile; reviewed: ReviewedFiles }) {
  const { path, how, added, removed } = file;
  const { state, markOf, addressOfFile, show } = reviewed;
  const isViewed = useComputed(() => state.isViewed(path, markOf(path)));
  const comments = useComputed(() => state.unsent.value.filter((one) => one.file === path).length);
  return (
    <li class={`file-link${isViewed.value ? " viewed" : ""}`}>
      <a href={addressOfFile(path)} onClick={() => show(path)} title={plainText(path, 300)}>
        <Text of={path.slice(path.lastIndexOf("/") + 1)} />
      </a>
      {isViewed.value && <span class="hidden">, viewed</span>}
      <span class="file-facts">
        {comments.value > 0 && <span class="tag">{comments.value} {comments.value === 1 ? "comment" : "comments"}
        </span>}
        {how !== null && <span class="quiet-line">{signs[how]}</span>}
        {how === null && <span class="plus">+{added}</span>}
        {how === null && <span class="minus">−{removed}</span>}
      </span>
    </li>
  );
}
