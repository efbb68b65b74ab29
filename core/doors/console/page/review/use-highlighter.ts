import { useEffect, useState } from "preact/hooks";
import type { Highlighter } from "../highlight.ts";

let loading: Promise<Highlighter> | undefined;

/** The highlighter, once it is loaded: it comes with the first diff that is shown. */
export function useHighlighter(): Highlighter | null {
  const [found, setFound] = useState<Highlighter | null>(null);
  useEffect(() => {
    let isHere = true;
    loading ??= import("../highlight.ts").then(({ highlightLines }) => highlightLines);
    loading.then((highlight) => isHere && setFound(() => highlight), () => (loading = undefined));
    return () => void (isHere = false);
  }, []);
  return found;
}
