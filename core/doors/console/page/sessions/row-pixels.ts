import { useEffect, useState } from "preact/hooks";

/** Lines have two rows of text where the window is narrow. The style sheet has the same numbers. */
const narrow = "(max-width: 760px)";

/** Height of a line of the list in pixels. */
export function useRowPixels(): number {
  const [isNarrow, setIsNarrow] = useState(() => matchMedia(narrow).matches);
  useEffect(() => {
    const query = matchMedia(narrow);
    const onChange = () => setIsNarrow(query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, []);
  return isNarrow ? 60 : 36;
}
