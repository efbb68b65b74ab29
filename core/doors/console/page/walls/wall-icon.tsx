import type { WantedGrant } from "./wall-facts.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import type { ComponentChildren } from "preact";
import type { WallKind } from "./plugin-words.ts";

const pictures: Readonly<Record<WallKind, ComponentChildren>> = {
  file: <path d="M3.5 1.5h6l3 3v10h-9ZM9.5 1.5v3h3" />,
  net: <path d="M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13ZM1.5 8h13M8 1.5c-4 4-4 9 0 13c4-4 4-9 0-13Z" />,
  run: <path d="M1.5 2.5h13v11h-13ZM4 6l2.5 2L4 10M8 10.5h4" />,
  key: <path d="M5 5.5a3 3 0 1 0 0 6a3 3 0 1 0 0-6ZM8 8.5h6.5v2.5M12 8.5v2" />,
};

/** Picture of what a permission is about; the words beside it say the same. */
export function WallIcon({ of: kind }: { of: WallKind }) {
  return <svg class="wall-icon" viewBox="0 0 16 16" aria-hidden="true">{pictures[kind]}</svg>;
}

/** Kind of thing that a permission of this name is about. */
function kindOf(permission: string): WallKind {
  if (permission === "net") return "net";
  if (permission === "run" || permission === "mcp_servers") return "run";
  return ["env", "run_env", "secrets"].includes(permission) ? "key" : "file";
}

/** Names a permission and its target, with the icon of its wall. */
export function WantedText({ of: { permission, target } }: { of: WantedGrant }) {
  return (
    <>
      <WallIcon of={kindOf(permission)} /> <b>{permission}</b>{" "}
      <code>
        <Text of={plainText(target, 300)} />
      </code>
    </>
  );
}
