import { useEffect } from "preact/hooks";
import { useConsole } from "../console-context.ts";
import { Text } from "../text.tsx";

/**
 * The last sentence for the person at the page, below the screen: it takes a place of its own, so it covers no button.
 * A failure ends with the screen on which it came.
 */
export function NoticeBar({ place }: { place: string }) {
  const { notice } = useConsole();
  const said = notice.value;
  useEffect(() => {
    if (said === null || said.isFailure) return;
    const timer = setTimeout(() => notice.value === said && (notice.value = null), 5000);
    return () => clearTimeout(timer);
  }, [said]);
  useEffect(() => {
    if (notice.peek()?.isFailure) notice.value = null;
  }, [place]);
  return (
    <div class="notices" aria-live="polite">
      {said !== null && (
        <div class={`notice ${said.isFailure ? "notice-failure" : ""}`}>
          <span>
            <Text of={said.text} />
            {said.hint !== undefined && (
              <span class="quiet-line">
                <Text of={said.hint} />
              </span>
            )}
          </span>
          <button type="button" class="plain" aria-label="Close" onClick={() => (notice.value = null)}>✕</button>
        </div>
      )}
    </div>
  );
}
