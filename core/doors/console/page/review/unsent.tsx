import { useState } from "preact/hooks";
import { Dialog } from "../parts.tsx";

/** Writes how many comments there are. */
export function commentCount(count: number): string {
  return `${count} ${count === 1 ? "comment" : "comments"}`;
}

/** Says that the agent does not have some comments. */
export function unsentText(count: number): string {
  return `${commentCount(count)} ${count === 1 ? "is" : "are"} not sent`;
}

/** The question before a worktree is removed, which names the comments that go with it. */
export function discardQuestion(unsent: number): string {
  return unsent === 0
    ? "Remove the worktree and all its changes?"
    : `Remove the worktree, all its changes and ${commentCount(unsent)} that ${unsent === 1 ? "is" : "are"} not sent?`;
}

interface ApplyAsk {
  /** Comments that the agent does not have. */
  unsent: number;
  apply: () => Promise<unknown>;
  /** Sends the comments; absent or null where that cannot be done here. */
  send?: (() => Promise<unknown>) | null;
}

/** Begins an apply, or first asks where it would end a review with comments that the agent does not have. */
export function useApplyAsk(of: ApplyAsk) {
  const [asks, setAsks] = useState(false);
  return {
    begin: () => of.unsent > 0 ? setAsks(true) : void of.apply(),
    dialog: asks && <UnsentDialog of={of} close={() => setAsks(false)} />,
  };
}

function UnsentDialog({ of: { unsent, send = null, apply }, close }: { of: ApplyAsk; close: () => void }) {
  const after = (act: () => Promise<unknown>) => () => {
    close();
    void act();
  };
  return (
    <Dialog title={unsentText(unsent)} close={close}>
      <p>An apply ends the review: the worktree goes, and with it the lines that you commented on.</p>
      <div class="dialog-actions">
        <button type="button" onClick={close}>Back</button>
        <button type="button" class="danger" onClick={after(apply)}>
          Apply without {unsent === 1 ? "it" : "them"}
        </button>
        {send !== null && (
          <button type="button" class="primary" autofocus onClick={after(send)}>Send {commentCount(unsent)}</button>
        )}
      </div>
    </Dialog>
  );
}
