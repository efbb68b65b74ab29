import { render } from "preact";
import { hostApi, type PageKey, signIn } from "./api.ts";
import { ConsoleProvider, createConsole } from "./console-context.ts";
import { followAddress, takeCode } from "./route.ts";
import { askTabs, shareKey } from "./shell/key-channel.ts";
import { dropKey, isOver, keepKey, keptKey, overText, takeWantedPlace } from "./shell/page-key.ts";
import { Shell } from "./shell/shell.tsx";
import { SignedOut } from "./shell/signed-out.tsx";

// A code that a person puts into the address of this tab opens it as it opens a new one.
addEventListener("hashchange", () => location.hash.startsWith("#code=") && location.reload());
await open();

/** Shows the console with the key of this tab, of its code, or of another tab. */
async function open(): Promise<void> {
  try {
    const key = await findKey();
    if (key === null) return render(<SignedOut />, document.body);
    keepKey(key);
    shareKey(key);
    show(key);
  } catch (error) {
    render(<SignedOut why={error instanceof Error ? error.message : String(error)} />, document.body);
  }
}

async function findKey(): Promise<PageKey | null> {
  const code = takeCode(takeWantedPlace);
  if (code !== null) return await signIn(code);
  const kept = keptKey();
  if (kept === null || !isOver(kept)) return kept ?? await askTabs();
  dropKey();
  const other = await askTabs();
  if (other === null) throw new Error(overText(kept));
  return other;
}

function show(key: PageKey): void {
  const found = createConsole({ key, api: hostApi(key.token) }, followAddress());
  void found.live.follow();
  document.body.replaceChildren();
  render(
    <ConsoleProvider value={found}>
      <Shell />
    </ConsoleProvider>,
    document.body,
  );
}
