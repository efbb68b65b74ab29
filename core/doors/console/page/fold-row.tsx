import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** One line that opens; what is in it is made when it is opened first, since most folds never are. */
export function FoldRow(
  { class: look, line, children }: { class: string; line: ComponentChildren; children: () => ComponentChildren },
) {
  const [wasOpened, setWasOpened] = useState(false);
  return (
    <details class={look} onToggle={({ currentTarget }) => currentTarget.open && setWasOpened(true)}>
      <summary>{line}</summary>
      {wasOpened && children()}
    </details>
  );
}
