import type { ComponentChildren } from "preact";
import { useConsole } from "./console-context.ts";

/** A right of a page's key beside looking: to control sessions, or to decide for the host. */
type Right = "run" | "admin";

/** Whether the key of this page has a right. */
export function useMay(right: Right): boolean {
  const { canRun, canAdmin } = useConsole();
  return right === "run" ? canRun : canAdmin;
}

interface MayProps {
  right: Right;
  children: ComponentChildren;
  /** Stands there where the key lacks the right. */
  otherwise?: ComponentChildren;
}

/** Controls that act, and forms: only a page whose key has the right shows them. */
export function May({ right, children, otherwise = null }: MayProps) {
  return <>{useMay(right) ? children : otherwise}</>;
}
