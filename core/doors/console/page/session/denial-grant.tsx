import { useState } from "preact/hooks";
import { useFocusBack } from "../focus.ts";
import { useMay } from "../may.tsx";
import { readGrantCommand } from "../../../../ground/config/grant-command.ts";
import { GrantForm } from "../walls/grant-form.tsx";

/** Gives what a denial lacked, at the place of the denial. */
export function DenialGrant({ command }: { command: string }) {
  const canAdmin = useMay("admin");
  const [isOpen, setIsOpen] = useState(false);
  const [isGiven, setIsGiven] = useState(false);
  const button = useFocusBack(isOpen);
  const grant = readGrantCommand(command);
  if (grant === null || !canAdmin) return null;
  if (isGiven) return <p class="quiet-line">Granted: sessions that begin now may do it.</p>;
  if (!isOpen) {
    return <button ref={button} type="button" onClick={() => setIsOpen(true)}>Grant …</button>;
  }
  const { pluginId, word } = grant;
  const [permission = word, target = word] = word.split(/:(.*)/s);
  return (
    <GrantForm
      plugin={{ id: pluginId, name: pluginId }}
      permission={permission}
      target={target}
      close={() => setIsOpen(false)}
      changed={() => setIsGiven(true)}
    />
  );
}
