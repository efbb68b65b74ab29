import { useMemo, useState } from "preact/hooks";
import { Text } from "../text.tsx";
import {
  type ComparedAgent,
  type ComparedFile,
  comparedFiles,
  isOpen,
  isSame,
  relationText,
} from "./compared-agent.ts";
import { FileVersus } from "./file-versus.tsx";

/** Files that are listed before more is asked for. */
const mostListed = 100;

/** The files that agents changed: who left each alike, and one of them at a time, compared. */
export function ComparedFiles({ agents }: { agents: readonly ComparedAgent[] }) {
  const open = useMemo(() => agents.filter((agent) => isOpen(agent) || agent.files?.length === 0), [agents]);
  const files = useMemo(() => comparedFiles(open), [open]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [most, setMost] = useState(mostListed);
  const shown = files.find(({ path }) => path === chosen) ?? files[0];
  if (shown === undefined) return null;
  return (
    <section aria-label="Files">
      <h2>File by file</h2>
      <div class="compare-files">
        <ul class="compared-list">
          {files.slice(0, most).map((file) => (
            <FileRow
              key={file.path}
              of={file}
              isShown={file === shown}
              show={() => setChosen(file.path)}
            />
          ))}
          {files.length > most && (
            <li>
              <button type="button" class="more" onClick={() => setMost(most * 4)}>
                {(files.length - most).toLocaleString("en")} more
              </button>
            </li>
          )}
        </ul>
        <FileVersus key={shown.path} file={shown} agents={open} />
      </div>
    </section>
  );
}

function FileRow({ of: file, isShown, show }: { of: ComparedFile; isShown: boolean; show: () => void }) {
  return (
    <li>
      <button type="button" class="compared-file" aria-pressed={isShown} onClick={show}>
        <code>
          <Text of={file.path} />
        </code>
        <span class={isSame(file) ? "quiet-line" : "differs"}>
          <Text of={relationText(file)} />
        </span>
      </button>
    </li>
  );
}
