import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** How far outside of the view a part is drawn already. */
const margin = "1500px 0px";

/** A part of a long page that is drawn while it is near the view; else it only takes its place. */
export function Near(
  { id, height, children }: { id?: string; height: number; children: () => ComponentChildren },
) {
  const element = useRef<HTMLDivElement>(null);
  const [isNear, setIsNear] = useState(false);
  const known = useRef<number | null>(null);
  useEffect(() => {
    const found = element.current;
    if (found === null) return;
    const watch = new IntersectionObserver((entries) => {
      const is = entries.at(-1)?.isIntersecting ?? false;
      if (!is && found.childElementCount > 0) known.current = found.offsetHeight;
      setIsNear(is);
    }, { root: found.closest("main"), rootMargin: margin });
    watch.observe(found);
    return () => watch.disconnect();
  }, []);
  // What opens in it, or wraps, makes it higher than was thought.
  const style = isNear ? { height: "auto" } : { height: `${known.current ?? height}px` };
  return <div id={id} ref={element} style={style}>{isNear && children()}</div>;
}
