import { useState } from "preact/hooks";
import { onEscape, useFocusInto } from "../focus.ts";

interface WordsFormProps {
  label: string;
  /** Name of the button that sends. */
  verb: string;
  text?: string;
  send(text: string): Promise<unknown>;
  close(): void;
}

/** A few words for an agent, below an item. Escape closes it. */
export function WordsForm({ label, verb, text: first = "", send, close }: WordsFormProps) {
  const [text, setText] = useState(first);
  const [isBusy, setIsBusy] = useState(false);
  const field = useFocusInto<HTMLTextAreaElement>();
  const submit = async () => {
    setIsBusy(true);
    await send(text.trim());
    setIsBusy(false);
  };
  return (
    <form
      class="words-form"
      onSubmit={(event) => (event.preventDefault(), void submit())}
      onKeyDown={onEscape(close)}
    >
      <label>
        {label}
        <textarea
          ref={field}
          rows={first === "" ? 2 : 8}
          required
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <div class="answers">
        <button type="submit" class="primary" disabled={isBusy || text.trim() === ""}>{verb}</button>
        <button type="button" onClick={close}>Back</button>
      </div>
    </form>
  );
}
