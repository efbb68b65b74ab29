import { render } from "preact";
import { signIn } from "./api.ts";
import { ConsoleProvider, createConsole } from "./console-context.ts";
import { followAddress, takeCode } from "./route.ts";
import { Shell, SignedOut } from "./shell.tsx";

await open();

/** Trades the code of the address for a token, and shows the console. */
async function open(): Promise<void> {
  const code = takeCode();
  if (code === null) return render(<SignedOut />, document.body);
  try {
    const found = createConsole(await signIn(code), followAddress());
    void found.live.follow(new AbortController().signal);
    document.body.replaceChildren();
    render(
      <ConsoleProvider value={found}>
        <Shell />
      </ConsoleProvider>,
      document.body,
    );
  } catch (error) {
    render(<SignedOut why={error instanceof Error ? error.message : String(error)} />, document.body);
  }
}
